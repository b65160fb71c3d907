#include "titan/text/string_pattern.h"

#include <utility>

#include "titan/base/error.h"

namespace titan::text {

StringPattern::StringPattern(const Json& node, const std::string& where) {
  const auto pattern = node.find("pattern");
  if (pattern == node.end() || !pattern->is_object() || pattern->size() != 1) {
    fail<FormatError>(
        "{}: pattern: expected {{\"Regex\": ...}} or {{\"String\": ...}}", where);
  }
  const std::string kind = pattern->begin().key();
  if (kind != "Regex" && kind != "String") {
    fail<FormatError>("{}: pattern: expected Regex or String, got {}", where, kind);
  }
  text_ = json_get<std::string>(*pattern, kind, where + ".pattern");
  if (kind == "Regex") {
    regex_ = make_regex(text_, where + ".pattern");
  }
}

StringPattern::StringPattern(std::unique_ptr<Regex> regex) : regex_(std::move(regex)) {}

void StringPattern::find_all(std::string_view text, std::vector<Range>& found) const {
  if (regex_) {
    regex_->find_all(text, found);
    return;
  }
  for (size_t at = text_.empty() ? text.npos : text.find(text_); at != text.npos;
       at = text.find(text_, at + text_.size())) {
    found.push_back({at, at + text_.size()});
  }
}

std::string StringPattern::replace_all(
    std::string text, std::string_view replacement) const {
  std::vector<Range> found;
  find_all(text, found);
  if (found.empty()) {
    return text;
  }
  std::string result;
  size_t done = 0;
  for (const Range& match : found) {
    result.append(text, done, match.begin - done);
    result += replacement;
    done = match.end;
  }
  return result.append(text, done);
}

}  // namespace titan::text
