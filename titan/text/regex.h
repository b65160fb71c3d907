#pragma once
// Regular expressions of pre-tokenizers, by PCRE2's just-in-time compiler.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace titan::text {

// A compiled Unicode pattern. Immutable and thread-safe. Its time and memory are bounded:
// a pattern that would explode on some text gives an error there, never a crash.
class Regex {
 public:
  // `where` names the pattern in errors. FormatError: not a valid pattern.
  Regex(const std::string& pattern, const std::string& where);
  ~Regex();

  // Calls `visit` with begin and end of each match, left to right, without overlap; a
  // match may be empty. REQUIRES: `text` is UTF-8. FormatError: a limit was reached.
  void for_each_match(
      std::string_view text, const std::function<void(size_t, size_t)>& visit) const;

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace titan::text
