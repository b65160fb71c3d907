#pragma once
// {"String": ...} or {"Regex": ...}: what Split and Replace look for.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/range.h"
#include "titan/text/regex.h"

namespace titan::text {

// Immutable and thread-safe.
class StringPattern {
 public:
  // From the member "pattern" of `node`. FormatError names the field.
  StringPattern(const Json& node, const std::string& where);

  // Looks for the matches of `regex`.
  explicit StringPattern(std::unique_ptr<Regex> regex);

  // Appends the matches in `text`, left to right, without overlap.
  void find_all(std::string_view text, std::vector<Range>& found) const;

  // `text` with every match replaced.
  [[nodiscard]] std::string replace_all(
      std::string text, std::string_view replacement) const;

 private:
  std::string text_;
  std::unique_ptr<Regex> regex_;  // null: `text_` as it is
};

}  // namespace titan::text
