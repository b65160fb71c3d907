#include <algorithm>
#include <array>

#include "titan/text/jinja/number_text.h"
#include "titan/text/jinja/parser.h"

namespace titan::text::jinja {
namespace {

struct ArithmeticSymbol {
  std::string_view symbol;
  Arithmetic operation;
};

constexpr std::array<ArithmeticSymbol, 4> kProducts = {
    {{"*", Arithmetic::kMultiply},
     {"/", Arithmetic::kDivide},
     {"//", Arithmetic::kFloorDivide},
     {"%", Arithmetic::kModulo}}};

struct ComparisonSymbol {
  std::string_view symbol;
  Comparison operation;
};

constexpr std::array<ComparisonSymbol, 6> kComparisons = {
    {{"==", Comparison::kEqual},
     {"!=", Comparison::kUnequal},
     {"<", Comparison::kLess},
     {"<=", Comparison::kLessOrEqual},
     {">", Comparison::kGreater},
     {">=", Comparison::kGreaterOrEqual}}};

// The entry whose symbol the token is, or null.
template <class Table>
const typename Table::value_type* find_symbol(const Table& table, const Token& token) {
  const auto found = std::ranges::find_if(
      table, [&](const auto& entry) { return token.is_operator(entry.symbol); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

bool Parser::at_tuple_end(std::string_view end_name) const {
  const TokenType type = token().type;
  return type == TokenType::kVariableEnd || type == TokenType::kBlockEnd ||
         token().is_operator(")") || (!end_name.empty() && token().is_name(end_name));
}

ExpressionPtr Parser::parse_tuple(bool with_conditional, std::string_view end_name) {
  const Position position = token().position;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (items.empty() || !at_tuple_end(end_name)) {
    items.push_back(with_conditional ? parse_expression() : parse_or());
    if (!take_operator(",")) {
      break;
    }
    is_tuple = true;
  }
  if (!is_tuple) {
    return std::move(items.front());
  }
  return std::make_unique<SequenceExpression>(position, true, std::move(items));
}

ExpressionPtr Parser::parse_expression() {
  Nesting nesting(*this);
  ExpressionPtr value = parse_or();
  while (token().is_name("if")) {
    nesting.add();
    const Position position = take().position;
    ExpressionPtr condition = parse_or();
    ExpressionPtr otherwise = take_name("else") ? parse_expression() : nullptr;
    value = std::make_unique<ConditionalExpression>(
        position, std::move(condition), std::move(value), std::move(otherwise));
  }
  return value;
}

ExpressionPtr Parser::parse_or() {
  Nesting nesting(*this);
  ExpressionPtr left = parse_and();
  while (token().is_name("or")) {
    nesting.add();
    const Position position = take().position;
    left = std::make_unique<LogicExpression>(
        position, LogicExpression::Operation::kOr, std::move(left), parse_and());
  }
  return left;
}

ExpressionPtr Parser::parse_and() {
  Nesting nesting(*this);
  ExpressionPtr left = parse_not();
  while (token().is_name("and")) {
    nesting.add();
    const Position position = take().position;
    left = std::make_unique<LogicExpression>(
        position, LogicExpression::Operation::kAnd, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr Parser::parse_not() {
  if (!token().is_name("not")) {
    return parse_compare();
  }
  const Nesting nesting(*this);
  const Position position = take().position;
  return std::make_unique<NotExpression>(position, parse_not());
}

ExpressionPtr Parser::parse_compare() {
  const Position position = token().position;
  ExpressionPtr first = parse_sum();
  std::vector<CompareExpression::Operand> operands;
  while (true) {
    if (const auto* const found = find_symbol(kComparisons, token())) {
      take();
      operands.push_back({found->operation, parse_sum()});
    } else if (take_name("in")) {
      operands.push_back({Comparison::kIn, parse_sum()});
    } else if (token().is_name("not") && next_token().is_name("in")) {
      take();
      take();
      operands.push_back({Comparison::kNotIn, parse_sum()});
    } else {
      break;
    }
  }
  if (operands.empty()) {
    return first;
  }
  return std::make_unique<CompareExpression>(
      position, std::move(first), std::move(operands));
}

ExpressionPtr Parser::parse_sum() {
  Nesting nesting(*this);
  ExpressionPtr left = parse_concatenation();
  while (token().is_operator("+") || token().is_operator("-")) {
    nesting.add();
    if (token().is_operator("+")) {
      left = parse_added(std::move(left));
      continue;
    }
    const Position position = take().position;
    left = std::make_unique<ArithmeticExpression>(
        position, Arithmetic::kSubtract, std::move(left), parse_concatenation());
  }
  return left;
}

ExpressionPtr Parser::parse_added(ExpressionPtr first) {
  const Position position = first->position();
  std::vector<ExpressionPtr> terms;
  std::vector<Position> positions;
  terms.push_back(std::move(first));
  while (token().is_operator("+")) {
    positions.push_back(take().position);
    terms.push_back(parse_concatenation());
  }
  return std::make_unique<SumExpression>(
      position, std::move(terms), std::move(positions));
}

ExpressionPtr Parser::parse_concatenation() {
  const Position position = token().position;
  std::vector<ExpressionPtr> parts;
  parts.push_back(parse_product());
  while (take_operator("~")) {
    parts.push_back(parse_product());
  }
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  return std::make_unique<ConcatenateExpression>(position, std::move(parts));
}

ExpressionPtr Parser::parse_product() {
  Nesting nesting(*this);
  ExpressionPtr left = parse_power();
  while (const auto* const found = find_symbol(kProducts, token())) {
    nesting.add();
    const Position position = take().position;
    left = std::make_unique<ArithmeticExpression>(
        position, found->operation, std::move(left), parse_power());
  }
  return left;
}

ExpressionPtr Parser::parse_power() {
  Nesting nesting(*this);
  ExpressionPtr left = parse_unary(true);
  while (token().is_operator("**")) {
    nesting.add();
    const Position position = take().position;
    left = std::make_unique<ArithmeticExpression>(
        position, Arithmetic::kPower, std::move(left), parse_unary(true));
  }
  return left;
}

ExpressionPtr Parser::parse_unary(bool with_filters) {
  const Nesting nesting(*this);
  const Position position = token().position;
  ExpressionPtr value;
  if (take_operator("-")) {
    value = std::make_unique<NegateExpression>(position, parse_unary(false));
  } else if (token().is_operator("+")) {
    fail_here(position, "a unary + is not supported");
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filters ? parse_filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr Parser::parse_primary() {
  const Token first = take();
  switch (first.type) {
    case TokenType::kName:
      return parse_name(first);
    case TokenType::kString:
      return parse_string(first);
    case TokenType::kInteger:
    case TokenType::kFloat:
      return parse_number(first);
    default:
      break;
  }
  if (first.is_operator("(")) {
    return parse_parenthesis(first.position);
  }
  if (first.is_operator("[")) {
    return parse_list(first.position);
  }
  if (first.is_operator("{")) {
    return parse_dict(first.position);
  }
  --at_;
  tokens_[at_] = first;
  fail_unexpected("an expression");
}

ExpressionPtr Parser::parse_name(const Token& name) {
  if (name.text == "true" || name.text == "True") {
    return make_literal(name.position, Value(true));
  }
  if (name.text == "false" || name.text == "False") {
    return make_literal(name.position, Value(false));
  }
  if (name.text == "none" || name.text == "None") {
    return make_literal(name.position, Value::none());
  }
  return make_name(name.position, name.text);
}

ExpressionPtr Parser::parse_string(const Token& first) {
  std::string text = first.text;
  while (token().type == TokenType::kString) {
    text += take().text;
  }
  return make_literal(
      first.position, make_string(program_.arena, program_.arena.copy(text)));
}

ExpressionPtr Parser::parse_number(const Token& number) {
  if (number.type == TokenType::kFloat) {
    return make_literal(number.position, Value(*parse_float(number.text)));
  }
  const bool leading_zero =
      number.text[0] == '0' && number.text.find_first_not_of('0') != std::string::npos;
  const std::optional<int64_t> value = parse_int(number.text, 10);
  if (!value || leading_zero) {
    fail_here(number.position, "the int {} is not supported", number.text);
  }
  return make_literal(number.position, Value(*value));
}

ExpressionPtr Parser::parse_parenthesis(Position position) {
  if (take_operator(")")) {
    return std::make_unique<SequenceExpression>(
        position, true, std::vector<ExpressionPtr>());
  }
  ExpressionPtr value = parse_tuple(true, "");
  expect_operator(")");
  return value;
}

ExpressionPtr Parser::parse_list(Position position) {
  std::vector<ExpressionPtr> items;
  while (!take_operator("]")) {
    if (!items.empty()) {
      expect_operator(",");
      if (take_operator("]")) {
        break;
      }
    }
    items.push_back(parse_expression());
  }
  return std::make_unique<SequenceExpression>(position, false, std::move(items));
}

ExpressionPtr Parser::parse_dict(Position position) {
  DictExpression::Entries entries;
  while (!take_operator("}")) {
    if (!entries.empty()) {
      expect_operator(",");
      if (take_operator("}")) {
        break;
      }
    }
    ExpressionPtr key = parse_expression();
    expect_operator(":");
    entries.emplace_back(std::move(key), parse_expression());
  }
  return std::make_unique<DictExpression>(position, std::move(entries));
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr value) {
  Nesting nesting(*this);
  while (true) {
    const Position position = token().position;
    if (take_operator(".")) {
      value = parse_attribute(std::move(value), position);
    } else if (take_operator("[")) {
      value = parse_subscript(std::move(value), position);
    } else if (take_operator("(")) {
      value =
          std::make_unique<CallExpression>(position, std::move(value), parse_arguments());
    } else {
      return value;
    }
    nesting.add();
  }
}

ExpressionPtr Parser::parse_attribute(ExpressionPtr owner, Position position) {
  if (token().type == TokenType::kInteger) {
    ExpressionPtr key = parse_number(take());
    return std::make_unique<ItemExpression>(position, std::move(owner), std::move(key));
  }
  const Token name = expect_name("the name of an attribute");
  return std::make_unique<AttributeExpression>(position, std::move(owner), name.text);
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr owner, Position position) {
  const auto ends_part = [&] {
    return token().is_operator(":") || token().is_operator("]");
  };
  ExpressionPtr begin = ends_part() ? nullptr : parse_expression();
  if (begin && take_operator("]")) {
    return std::make_unique<ItemExpression>(position, std::move(owner), std::move(begin));
  }
  auto slice = std::make_unique<SliceExpression>(position, std::move(owner));
  slice->begin = std::move(begin);
  expect_operator(":");
  if (!ends_part()) {
    slice->end = parse_expression();
  }
  if (take_operator(":") && !ends_part()) {
    slice->step = parse_expression();
  }
  expect_operator("]");
  return slice;
}

ExpressionPtr Parser::parse_filters_and_tests(ExpressionPtr value) {
  Nesting nesting(*this);
  while (true) {
    const Position position = token().position;
    if (take_operator("|")) {
      value = parse_filter(std::move(value));
    } else if (take_name("is")) {
      value = parse_test(std::move(value));
    } else if (take_operator("(")) {
      value =
          std::make_unique<CallExpression>(position, std::move(value), parse_arguments());
    } else {
      return value;
    }
    nesting.add();
  }
}

std::string Parser::parse_dotted_name(std::string_view what) {
  std::string name = expect_name(what).text;
  while (take_operator(".")) {
    name += '.';
    name += expect_name(what).text;
  }
  return name;
}

ExpressionPtr Parser::parse_filter(ExpressionPtr value) {
  const Position position = token().position;
  const std::string name = parse_dotted_name("the name of a filter");
  const Builtin* const filter = find_filter(name);
  if (filter == nullptr) {
    fail_here(position, "the filter \"{}\" is not supported", name);
  }
  ArgumentList arguments = take_operator("(") ? parse_arguments() : ArgumentList();
  return std::make_unique<BuiltinExpression>(
      position, filter, std::move(value), std::move(arguments));
}

ExpressionPtr Parser::parse_test(ExpressionPtr value) {
  const bool negated = take_name("not");
  const Position position = token().position;
  const std::string name = parse_dotted_name("the name of a test");
  const Builtin* const test = find_test(name);
  if (test == nullptr) {
    fail_here(position, "the test \"{}\" is not supported", name);
  }
  ArgumentList arguments;
  const TokenType type = token().type;
  const bool starts_argument = type == TokenType::kString ||
                               type == TokenType::kInteger || type == TokenType::kFloat ||
                               token().is_operator("[") || token().is_operator("{") ||
                               (type == TokenType::kName && !token().is_name("else") &&
                                !token().is_name("or") && !token().is_name("and"));
  if (take_operator("(")) {
    arguments = parse_arguments();
  } else if (starts_argument) {
    if (token().is_name("is")) {
      fail_here(token().position, "tests cannot be chained with is");
    }
    arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  ExpressionPtr result = std::make_unique<BuiltinExpression>(
      position, test, std::move(value), std::move(arguments));
  if (negated) {
    result = std::make_unique<NotExpression>(position, std::move(result));
  }
  return result;
}

ArgumentList Parser::parse_arguments() {
  ArgumentList arguments;
  bool first = true;
  while (!take_operator(")")) {
    if (!first) {
      expect_operator(",");
      if (take_operator(")")) {
        break;
      }
    }
    first = false;
    if (token().is_operator("*") || token().is_operator("**")) {
      fail_here(token().position, "arguments with {} are not supported", token().text);
    }
    if (token().type == TokenType::kName && next_token().is_operator("=")) {
      std::string name = take().text;
      take();
      arguments.keywords.emplace_back(std::move(name), parse_expression());
      continue;
    }
    if (!arguments.keywords.empty()) {
      fail_here(token().position, "a positional argument after a keyword argument");
    }
    arguments.positional.push_back(parse_expression());
  }
  return arguments;
}

ExpressionPtr Parser::make_name(Position position, const std::string& name) {
  auto expression = std::make_unique<NameExpression>(position, name);
  program_.scopes.add_read(expression.get(), scope_);
  return expression;
}

ExpressionPtr Parser::make_literal(Position position, const Value& value) const {
  return std::make_unique<LiteralExpression>(position, value);
}

}  // namespace titan::text::jinja
