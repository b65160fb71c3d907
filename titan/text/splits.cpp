// The pre-tokenizers that cut at characters, strings or patterns and change no text.

#include <string>
#include <utility>

#include <fmt/format.h>

#include "titan/text/characters.h"
#include "titan/text/pre_tokenizer_kinds.h"
#include "titan/text/regex.h"
#include "titan/text/split_behavior.h"
#include "titan/text/string_pattern.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Cuts at each character for which `is_delimiter` holds.
class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(bool (*is_delimiter)(char32_t), SplitBehavior behavior)
      : is_delimiter_(is_delimiter), behavior_(behavior) {}

  void split(Pieces& pieces) const override {
    split_each(pieces, behavior_, false, [&](std::string_view text, auto& found) {
      for (size_t at = 0; at < text.size();) {
        const size_t size = utf8_size(static_cast<unsigned char>(text[at]));
        if (is_delimiter_(code_point(text.substr(at), size))) {
          found.push_back({at, at + size});
        }
        at += size;
      }
    });
  }

 private:
  bool (*is_delimiter_)(char32_t);
  SplitBehavior behavior_;
};

// Cuts at the matches of a pattern.
class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(StringPattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(Pieces& pieces) const override {
    split_each(pieces, behavior_, invert_, [&](std::string_view text, auto& found) {
      pattern_.find_all(text, found);
    });
  }

 private:
  StringPattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_digits(const Json& node, const std::string& where) {
  const bool individual = json_get<bool>(node, "individual_digits", where, false);
  return std::make_unique<CharacterSplit>(
      is_numeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

std::unique_ptr<PreTokenizer> make_punctuation(
    const Json& node, const std::string& where) {
  const auto behavior = json_get<std::string>(node, "behavior", where, "Isolated");
  return std::make_unique<CharacterSplit>(
      is_punctuation, parse_split_behavior(behavior, where));
}

std::unique_ptr<PreTokenizer> make_split(const Json& node, const std::string& where) {
  const SplitBehavior behavior =
      parse_split_behavior(json_get<std::string>(node, "behavior", where), where);
  const bool invert = json_get<bool>(node, "invert", where, false);
  return std::make_unique<PatternSplit>(StringPattern(node, where), behavior, invert);
}

std::unique_ptr<PreTokenizer> make_whitespace(const Json&, const std::string& where) {
  // Words and runs of signs. What a word is here differs from \w in other patterns.
  constexpr const char* kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control})";
  const std::string pattern = fmt::format(R"([{0}]+|[^{0}\s]+)", kWord);
  return std::make_unique<PatternSplit>(
      StringPattern(make_regex(pattern, where)), SplitBehavior::kRemoved, true);
}

std::unique_ptr<PreTokenizer> make_whitespace_split(const Json&, const std::string&) {
  return std::make_unique<CharacterSplit>(is_space, SplitBehavior::kRemoved);
}

std::unique_ptr<PreTokenizer> make_pattern_pre_tokenizer(
    const std::string& pattern, const std::string& where) {
  return std::make_unique<PatternSplit>(
      StringPattern(make_regex(pattern, where)), SplitBehavior::kIsolated, false);
}

}  // namespace titan::text
