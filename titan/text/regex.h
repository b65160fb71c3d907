#pragma once
// Regular expressions of pre-tokenizers and normalizers.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "titan/text/range.h"

namespace titan::text {

// A compiled Unicode pattern. Immutable and thread-safe. Its time and memory are bounded:
// a pattern that would explode on some text gives an error there, never a crash.
class Regex {
 public:
  virtual ~Regex() = default;

  // Appends the matches in `text`, left to right, without overlap; a match may be empty.
  // REQUIRES: `text` is UTF-8. FormatError: a limit was reached.
  virtual void find_all(std::string_view text, std::vector<Range>& found) const = 0;
};

// An automaton where the pattern allows one, else PCRE2. `where` names the pattern in
// errors. FormatError: not a valid pattern.
[[nodiscard]] std::unique_ptr<Regex> make_regex(
    const std::string& pattern, const std::string& where);

// The two engines behind it; they agree wherever there is an automaton.

// By PCRE2's just-in-time compiler.
[[nodiscard]] std::unique_ptr<Regex> make_pcre_regex(
    const std::string& pattern, const std::string& where);

// A deterministic automaton: one table look-up a character. Null where the pattern needs
// more than that (see parse_regex and make_regex_program) or too many states.
[[nodiscard]] std::unique_ptr<Regex> make_regex_automaton(
    const std::string& pattern, const std::string& where);

}  // namespace titan::text
