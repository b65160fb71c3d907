#pragma once
// A template's source as tokens, with the white space rules of jinja2 under trim_blocks
// and lstrip_blocks: the line end after a block or comment goes away, and so does the
// white space between the start of a line and a block or comment; "-" takes all white
// space on its side, "+" keeps what is there. One line end at the end of the source goes
// away.

#include <string>
#include <string_view>
#include <vector>

#include "titan/base/error.h"
#include "titan/text/jinja/node.h"

namespace titan::text::jinja {

enum class TokenType {
  kText,           // outside of tags
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // `text` is what it stands for
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenType type = TokenType::kEnd;
  std::string text;
  Position position;

  [[nodiscard]] bool is_name(std::string_view name) const {
    return type == TokenType::kName && text == name;
  }

  [[nodiscard]] bool is_operator(std::string_view symbol) const {
    return type == TokenType::kOperator && text == symbol;
  }
};

// Ends with a token of type kEnd. FormatError with line and column.
[[nodiscard]] std::vector<Token> tokenize(
    std::string_view source, const std::string& template_name);

// The FormatError of a template that is wrong or not supported.
template <class... Args>
[[noreturn]] void fail_at(
    const std::string& template_name,
    Position position,
    fmt::format_string<Args...> format,
    Args&&... args) {
  fail<FormatError>(
      "{}:{}:{}: {}",
      template_name,
      position.line,
      position.column,
      fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace titan::text::jinja
