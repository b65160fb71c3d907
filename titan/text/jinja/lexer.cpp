#include "titan/text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "titan/text/jinja/python_characters.h"
#include "titan/text/utf8.h"

namespace titan::text::jinja {
namespace {

// "\r\n" and "\r" as "\n", without one line end at the end.
std::string normalize_line_ends(std::string_view source) {
  std::string result;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      result += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      result += '\n';
    }
  }
  if (result.ends_with('\n')) {
    result.pop_back();
  }
  return result;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  const char lower = static_cast<char>(c | 32);
  return (lower >= 'a' && lower <= 'z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& template_name)
      : source_(normalize_line_ends(source)), name_(template_name) {
    line_starts_.push_back(0);
    for (size_t i = 0; i < source_.size(); ++i) {
      if (source_[i] == '\n') {
        line_starts_.push_back(i + 1);
      }
    }
  }

  std::vector<Token> run() {
    if (const std::optional<size_t> offset = find_invalid_utf8(source_)) {
      fail_at(name_, position(*offset), "the template is not UTF-8");
    }
    while (at_ < source_.size()) {
      read_text_and_tag();
    }
    tokens_.push_back({TokenType::kEnd, "", position(source_.size())});
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] Position position(size_t offset) const {
    const auto line = std::ranges::upper_bound(line_starts_, offset) - 1;
    return {
        static_cast<uint32_t>(line - line_starts_.begin() + 1),
        static_cast<uint32_t>(offset - *line + 1)};
  }

  [[nodiscard]] bool sees(std::string_view text) const {
    return std::string_view(source_).substr(at_, text.size()) == text;
  }

  void add(TokenType type, size_t begin, std::string text) {
    tokens_.push_back({type, std::move(text), position(begin)});
  }

  void skip_space() { at_ += prefix_of(std::string_view(source_).substr(at_), nullptr); }

  // Text up to the next tag, and the tag.
  void read_text_and_tag() {
    const size_t begin = at_;
    while (at_ < source_.size() && !sees("{{") && !sees("{%") && !sees("{#")) {
      at_ = std::min(source_.find('{', at_ + 1), source_.size());
    }
    const size_t tag = at_;
    if (tag == source_.size()) {
      add_text(begin, tag);
      return;
    }
    const char kind = source_[tag + 1];
    at_ += 2;
    const char sign = take_sign();
    add_text(begin, strip_before_tag(begin, tag, kind, sign));
    if (kind == '#') {
      skip_comment(tag);
    } else if (kind == '%' && take_raw_begin()) {
      read_raw(tag);
    } else {
      read_tag(tag, kind == '%');
    }
  }

  char take_sign() {
    const char sign = at_ < source_.size() ? source_[at_] : '\0';
    if (sign == '-' || sign == '+') {
      ++at_;
      return sign;
    }
    return '\0';
  }

  void add_text(size_t begin, size_t end) {
    if (end > begin) {
      add(TokenType::kText, begin, source_.substr(begin, end - begin));
    }
  }

  // Where the text [begin, tag) before a tag ends.
  [[nodiscard]] size_t strip_before_tag(
      size_t begin, size_t tag, char kind, char sign) const {
    const std::string_view text = std::string_view(source_).substr(begin, tag - begin);
    if (sign == '-') {
      return tag - suffix_of(text, nullptr);
    }
    if (sign == '+' || kind == '{') {
      return tag;
    }
    const size_t last_line_end = text.rfind('\n');
    const size_t line = last_line_end == text.npos ? 0 : last_line_end + 1;
    const bool at_line_start = line > 0 || begin == 0 || source_[begin - 1] == '\n';
    const bool blank = prefix_of(text.substr(line), nullptr) == text.size() - line;
    return at_line_start && blank ? begin + line : tag;
  }

  // Takes the end of a tag: "-" and all white space after it, or one line end where
  // `trim`. False where there is none at this place.
  bool take_end(std::string_view end, bool trim) {
    const bool minus = sees("-");
    const bool sign = minus || (sees("+") && end != "}}");
    if (source_.compare(at_ + (sign ? 1 : 0), end.size(), end) != 0) {
      return false;
    }
    at_ += (sign ? 1 : 0) + end.size();
    if (minus) {
      skip_space();
    } else if (trim && !sign && sees("\n")) {
      ++at_;
    }
    return true;
  }

  void skip_comment(size_t tag) {
    while (at_ < source_.size()) {
      if (take_end("#}", true)) {
        return;
      }
      ++at_;
    }
    fail_at(name_, position(tag), "a comment without its end");
  }

  bool take_raw_begin() {
    const size_t begin = at_;
    skip_space();
    if (sees("raw")) {
      at_ += 3;
      skip_space();
      if (!sees("+") && take_end("%}", false)) {
        return true;
      }
    }
    at_ = begin;
    return false;
  }

  void read_raw(size_t tag) {
    const size_t begin = at_;
    for (; at_ < source_.size(); ++at_) {
      const size_t end = at_;
      if (!sees("{%")) {
        continue;
      }
      at_ += 2;
      const char sign = take_sign();
      skip_space();
      if (sees("endraw")) {
        at_ += 6;
        skip_space();
        if (take_end("%}", true)) {
          add_text(begin, strip_before_tag(begin, end, '%', sign));
          return;
        }
      }
      at_ = end;
    }
    fail_at(name_, position(tag), "raw without endraw");
  }

  void read_tag(size_t tag, bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    add(is_block ? TokenType::kBlockBegin : TokenType::kVariableBegin, tag, "");
    std::string open;  // brackets without their counterparts
    while (true) {
      skip_space();
      if (at_ == source_.size()) {
        fail_at(name_, position(tag), "a tag without its end");
      }
      const size_t begin = at_;
      if (open.empty() && take_end(end, is_block)) {
        add(is_block ? TokenType::kBlockEnd : TokenType::kVariableEnd, begin, "");
        return;
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = source_[at_];
    if (is_digit(c)) {
      read_number();
    } else if (starts_name(c)) {
      const size_t begin = at_;
      while (at_ < source_.size() && continues_name(source_[at_])) {
        ++at_;
      }
      add(TokenType::kName, begin, source_.substr(begin, at_ - begin));
    } else if (c == '"' || c == '\'') {
      read_string();
    } else {
      read_operator(open);
    }
  }

  void read_operator(std::string& open) {
    static constexpr std::array<std::string_view, 25> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    const auto found = std::ranges::find_if(
        kOperators, [&](std::string_view symbol) { return sees(symbol); });
    if (found == kOperators.end()) {
      const size_t size = character_at(source_, at_).size;
      fail_at(
          name_, position(at_), "unexpected character '{}'", source_.substr(at_, size));
    }
    const std::string_view symbol = *found;
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (kOpening.find(symbol) != kOpening.npos) {
      open += symbol;
    } else if (const size_t which = kClosing.find(symbol); which != kClosing.npos) {
      if (open.empty() || open.back() != kOpening[which]) {
        fail_at(name_, position(at_), "unexpected '{}'", symbol);
      }
      open.pop_back();
    }
    add(TokenType::kOperator, at_, std::string(symbol));
    at_ += symbol.size();
  }

  // Digits, with single underscores between them.
  void take_digits(std::string& text) {
    while (at_ < source_.size() &&
           (is_digit(source_[at_]) || (source_[at_] == '_' && at_ + 1 < source_.size() &&
                                       is_digit(source_[at_ + 1])))) {
      if (source_[at_] != '_') {
        text += source_[at_];
      }
      ++at_;
    }
  }

  void read_number() {
    const size_t begin = at_;
    std::string text;
    take_digits(text);
    const auto digit_at = [&](size_t offset) {
      return offset < source_.size() && is_digit(source_[offset]);
    };
    bool is_float = false;
    if (sees(".") && digit_at(at_ + 1)) {
      is_float = true;
      text += source_[at_++];
      take_digits(text);
    }
    if (sees("e") || sees("E")) {
      const size_t sign =
          at_ + 1 < source_.size() && (source_[at_ + 1] == '+' || source_[at_ + 1] == '-')
              ? 1
              : 0;
      if (digit_at(at_ + 1 + sign)) {
        is_float = true;
        text += source_.substr(at_, 1 + sign);
        at_ += 1 + sign;
        take_digits(text);
      }
    }
    if (at_ < source_.size() && starts_name(source_[at_])) {
      fail_at(name_, position(begin), "this form of a number is not supported");
    }
    add(is_float ? TokenType::kFloat : TokenType::kInteger, begin, text);
  }

  void read_string() {
    const size_t begin = at_;
    const char quote = source_[at_++];
    std::string text;
    while (true) {
      if (at_ == source_.size()) {
        fail_at(name_, position(begin), "a string without its end");
      }
      const char c = source_[at_++];
      if (c == quote) {
        break;
      }
      if (c == '\\' && at_ < source_.size()) {
        read_escape(text);
      } else {
        text += c;
      }
    }
    add(TokenType::kString, begin, text);
  }

  // Python's escapes; what is none keeps its backslash.
  void read_escape(std::string& text) {
    const size_t begin = at_ - 1;
    const char c = source_[at_++];
    constexpr std::string_view kNames = "abfnrtv\\'\"";
    constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
    if (const size_t which = kNames.find(c); which != kNames.npos) {
      text += kValues[which];
      return;
    }
    if (c == '\n') {
      return;
    }
    if (c >= '0' && c <= '7') {
      --at_;
      append_code(text, begin, take_code(3, 8));
      return;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      if (c == 'N') {
        fail_at(name_, position(begin), "the escape \\N is not supported");
      }
      text += '\\';
      text += c;
      return;
    }
    const size_t first = at_;
    const uint32_t code = take_code(digits, 16);
    if (at_ - first != digits) {
      fail_at(name_, position(begin), "expected {} hexadecimal digits", digits);
    }
    append_code(text, begin, code);
  }

  uint32_t take_code(size_t max_digits, uint32_t base) {
    uint32_t code = 0;
    for (size_t i = 0; i < max_digits && at_ < source_.size(); ++i, ++at_) {
      const char c = static_cast<char>(source_[at_] | 32);
      const uint32_t digit = is_digit(source_[at_]) ? static_cast<uint32_t>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a') + 10
                                                    : 16;
      if (digit >= base) {
        break;
      }
      code = code * base + digit;
    }
    return code;
  }

  void append_code(std::string& text, size_t begin, uint32_t code) {
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      fail_at(name_, position(begin), "the escape is not a character");
    }
    append_utf8(text, static_cast<char32_t>(code));
  }

  std::string source_;
  const std::string& name_;
  std::vector<size_t> line_starts_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& template_name) {
  return Lexer(source, template_name).run();
}

}  // namespace titan::text::jinja
