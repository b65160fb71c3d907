#include <algorithm>

#include "titan/text/jinja/parser.h"

namespace titan::text::jinja {

Parser::Parser(
    std::string_view source, const std::string& template_name, Program& program)
    : template_name_(template_name),
      program_(program),
      tokens_(tokenize(source, template_name)),
      scope_(program.scopes.root()) {}

void Parser::run() {
  program_.body = parse_body({});
  program_.scopes.resolve();
  for (const auto& [code, scope] : macros_) {
    const auto slot_if_read = [scope = scope](std::string_view name) {
      return scope->is_read(name) ? std::optional(scope->declare(name)) : std::nullopt;
    };
    code->caller_slot = slot_if_read("caller");
    code->varargs_slot = slot_if_read("varargs");
    code->kwargs_slot = slot_if_read("kwargs");
  }
}

bool Parser::take_operator(std::string_view symbol) {
  const bool found = token().is_operator(symbol);
  at_ += found ? 1 : 0;
  return found;
}

bool Parser::take_name(std::string_view name) {
  const bool found = token().is_name(name);
  at_ += found ? 1 : 0;
  return found;
}

void Parser::expect_operator(std::string_view symbol) {
  if (!take_operator(symbol)) {
    fail_unexpected(fmt::format("'{}'", symbol));
  }
}

Token Parser::expect_name(std::string_view what) {
  if (token().type != TokenType::kName) {
    fail_unexpected(what);
  }
  return take();
}

void Parser::expect_block_end() {
  if (token().type != TokenType::kBlockEnd) {
    fail_unexpected("the end of the block");
  }
  take();
}

void Parser::fail_unexpected(std::string_view expected) const {
  std::string found;
  switch (token().type) {
    case TokenType::kEnd:
      found = "the end of the template";
      break;
    case TokenType::kVariableEnd:
    case TokenType::kBlockEnd:
      found = "the end of the tag";
      break;
    default:
      found = fmt::format("'{}'", token().text);
  }
  fail_here(token().position, "expected {}, got {}", expected, found);
}

Body Parser::parse_body(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(*this);
  Body body;
  while (true) {
    switch (token().type) {
      case TokenType::kText:
        body.push_back(std::make_unique<TextStatement>(take().text));
        break;
      case TokenType::kVariableBegin:
        parse_print(body);
        break;
      case TokenType::kBlockBegin: {
        take();
        const auto is_end = [&](std::string_view end) { return token().is_name(end); };
        if (std::ranges::any_of(ends, is_end)) {
          return body;
        }
        body.push_back(parse_statement());
        break;
      }
      default:
        if (ends.size() != 0) {
          fail_unexpected(fmt::format("\"{}\"", *(ends.end() - 1)));
        }
        return body;
    }
  }
}

Body Parser::parse_block(std::string_view end) {
  Body body = parse_body({end});
  take();
  expect_block_end();
  return body;
}

void Parser::parse_print(Body& body) {
  take();
  ExpressionPtr value = parse_tuple(true, "");
  if (token().type != TokenType::kVariableEnd) {
    fail_unexpected("the end of the tag");
  }
  take();
  body.push_back(std::make_unique<PrintStatement>(std::move(value)));
}

std::unique_ptr<const Statement> Parser::parse_statement() {
  const Token tag = expect_name("the name of a tag");
  if (tag.text == "if") {
    return parse_if();
  }
  if (tag.text == "for") {
    return parse_for();
  }
  if (tag.text == "break") {
    return parse_break(tag.position, Flow::kBreak);
  }
  if (tag.text == "continue") {
    return parse_break(tag.position, Flow::kContinue);
  }
  if (tag.text == "set") {
    return parse_set();
  }
  if (tag.text == "filter") {
    return parse_filter_block();
  }
  if (tag.text == "with") {
    return parse_with();
  }
  if (tag.text == "macro") {
    return parse_macro();
  }
  if (tag.text == "call") {
    return parse_call(tag.position);
  }
  if (tag.text == "generation") {
    return parse_generation();
  }
  fail_here(tag.position, "the tag \"{}\" is not supported here", tag.text);
}

std::unique_ptr<const Statement> Parser::parse_if() {
  std::vector<IfStatement::Branch> branches;
  ExpressionPtr condition = parse_tuple(false, "");
  while (true) {
    expect_block_end();
    Body body = parse_body({"elif", "else", "endif"});
    branches.push_back({std::move(condition), std::move(body)});
    const std::string next = take().text;
    if (next == "elif") {
      condition = parse_tuple(false, "");
      continue;
    }
    if (next == "else") {
      expect_block_end();
      branches.push_back({nullptr, parse_body({"endif"})});
      take();
    }
    expect_block_end();
    return std::make_unique<IfStatement>(std::move(branches));
  }
}

bool Parser::is_recursive_loop() const {
  size_t end = at_;
  while (tokens_[end].type != TokenType::kBlockEnd &&
         tokens_[end].type != TokenType::kEnd) {
    ++end;
  }
  return end > at_ && tokens_[end - 1].is_name("recursive");
}

std::unique_ptr<const Statement> Parser::parse_for() {
  auto loop = std::make_unique<ForStatement>();
  Scope* const outer = scope_;
  const bool recursive = is_recursive_loop();
  Scope* const scope =
      recursive ? program_.scopes.add_activation(outer) : program_.scopes.add(outer);
  loop->scope = scope;
  loop->activation = recursive ? scope->activation() : nullptr;
  {
    const ScopeGuard guard(*this, scope, false);
    loop->target = parse_target(false);
  }
  if (!take_name("in")) {
    fail_unexpected("\"in\"");
  }
  loop->iterable = parse_tuple(false, "recursive");
  {
    const ScopeGuard guard(*this, scope, true);
    if (take_name("if")) {
      loop->condition = parse_expression();
    }
    take_name("recursive");
    expect_block_end();
    loop->loop_slot = scope->declare("loop");
    loop->body = parse_body({"else", "endfor"});
  }
  Scope* const otherwise = program_.scopes.add(outer);
  loop->otherwise_scope = otherwise;
  if (take().text == "else") {
    expect_block_end();
    const ScopeGuard guard(*this, otherwise, in_loop_);
    loop->otherwise = parse_body({"endfor"});
    take();
  }
  expect_block_end();
  return loop;
}

std::unique_ptr<const Statement> Parser::parse_break(Position position, Flow flow) {
  if (!in_loop_) {
    fail_here(
        position, "{} outside of a loop", flow == Flow::kBreak ? "break" : "continue");
  }
  expect_block_end();
  return std::make_unique<BreakStatement>(flow);
}

Target Parser::name_target(const Token& name) {
  Target target;
  target.position = name.position;
  target.slot = scope_->declare(name.text);
  return target;
}

Target Parser::parse_one_target(bool with_namespace) {
  if (take_operator("(")) {
    Target target = parse_target(false);
    expect_operator(")");
    return target;
  }
  const Token name = expect_name("the name of a variable");
  for (const std::string_view constant :
       {"true", "false", "none", "True", "False", "None"}) {
    if (name.text == constant) {
      fail_here(name.position, "\"{}\" cannot be set", name.text);
    }
  }
  if (!with_namespace || !take_operator(".")) {
    return name_target(name);
  }
  Target target;
  target.position = name.position;
  target.name_space = make_name(name.position, name.text);
  target.attribute = expect_name("the name of an attribute").text;
  return target;
}

Target Parser::parse_target(bool with_namespace) {
  const Nesting nesting(*this);
  const Position position = token().position;
  Target first = parse_one_target(with_namespace);
  if (!token().is_operator(",")) {
    return first;
  }
  Target target;
  target.position = position;
  target.is_unpacked = true;
  target.items.push_back(std::move(first));
  while (take_operator(",")) {
    if (token().type != TokenType::kName && !token().is_operator("(")) {
      break;
    }
    if (token().is_name("in")) {
      break;
    }
    target.items.push_back(parse_one_target(with_namespace));
  }
  return target;
}

std::unique_ptr<const Statement> Parser::parse_set() {
  Target target = parse_target(true);
  if (take_operator("=")) {
    ExpressionPtr value = parse_tuple(true, "");
    expect_block_end();
    return std::make_unique<SetStatement>(std::move(target), std::move(value));
  }
  auto capture = parse_capture("endset", false);
  capture->target = std::move(target);
  return capture;
}

std::unique_ptr<const Statement> Parser::parse_filter_block() {
  return parse_capture("endfilter", true);
}

std::unique_ptr<CaptureStatement> Parser::parse_capture(
    std::string_view end, bool names_filter) {
  auto capture = std::make_unique<CaptureStatement>();
  Scope* const scope = program_.scopes.add(scope_);
  capture->scope = scope;
  capture->slot = scope->declare_hidden();
  ExpressionPtr text = std::make_unique<SlotExpression>(token().position, capture->slot);
  capture->result = names_filter ? parse_filter(std::move(text)) : std::move(text);
  capture->result = parse_filters_and_tests(std::move(capture->result));
  expect_block_end();
  const ScopeGuard guard(*this, scope, false);
  capture->body = parse_block(end);
  return capture;
}

std::unique_ptr<const Statement> Parser::parse_with() {
  auto with = std::make_unique<WithStatement>();
  Scope* const outer = scope_;
  Scope* const scope = program_.scopes.add(outer);
  with->scope = scope;
  while (token().type != TokenType::kBlockEnd) {
    if (!with->variables.empty()) {
      expect_operator(",");
    }
    Target target;
    {
      const ScopeGuard guard(*this, scope, false);
      target = parse_one_target(false);
    }
    expect_operator("=");
    with->variables.emplace_back(std::move(target), parse_expression());
  }
  take();
  const ScopeGuard guard(*this, scope, in_loop_);
  with->body = parse_block("endwith");
  return with;
}

void Parser::parse_signature(MacroCode& code) {
  while (!take_operator(")")) {
    if (!code.parameters.empty()) {
      expect_operator(",");
    }
    MacroCode::Parameter& parameter = code.parameters.emplace_back();
    parameter.name = expect_name("the name of a parameter").text;
    parameter.slot = scope_->declare(parameter.name, true);
    parameter.reason = fmt::format("argument \"{}\" is not given", parameter.name);
    if (take_operator("=")) {
      parameter.otherwise = parse_expression();
    } else if (
        code.parameters.size() > 1 &&
        code.parameters[code.parameters.size() - 2].otherwise) {
      fail_here(
          token().position,
          "parameter \"{}\" without a default after one with a default",
          parameter.name);
    }
  }
}

void Parser::parse_macro_code(MacroCode& code, Scope* scope, std::string_view end) {
  const ScopeGuard guard(*this, scope, false);
  for (const std::string_view name : {"caller", "varargs", "kwargs"}) {
    scope->declare(name, true);
  }
  code.activation = scope->activation();
  code.body = parse_block(end);
  macros_.emplace_back(&code, scope);
}

std::unique_ptr<const Statement> Parser::parse_macro() {
  auto macro = std::make_unique<MacroStatement>();
  const Token name = expect_name("the name of a macro");
  macro->code.name = name.text;
  macro->slot = scope_->declare(name.text);
  Scope* const scope = program_.scopes.add_activation(scope_);
  expect_operator("(");
  {
    const ScopeGuard guard(*this, scope, false);
    parse_signature(macro->code);
  }
  expect_block_end();
  parse_macro_code(macro->code, scope, "endmacro");
  return macro;
}

std::unique_ptr<const Statement> Parser::parse_call(Position position) {
  auto statement = std::make_unique<CallStatement>();
  statement->code.name = "caller";
  Scope* const scope = program_.scopes.add_activation(scope_);
  if (take_operator("(")) {
    const ScopeGuard guard(*this, scope, false);
    parse_signature(statement->code);
  }
  ExpressionPtr expression = parse_expression();
  const auto* const call = dynamic_cast<const CallExpression*>(expression.get());
  if (call == nullptr) {
    fail_here(position, "call: expected the call of a macro");
  }
  (void)expression.release();
  statement->call.reset(call);
  expect_block_end();
  parse_macro_code(statement->code, scope, "endcall");
  return statement;
}

std::unique_ptr<const Statement> Parser::parse_generation() {
  program_.has_generation = true;
  auto generation = std::make_unique<GenerationStatement>();
  expect_block_end();
  Scope* const scope = program_.scopes.add(scope_);
  generation->scope = scope;
  const ScopeGuard guard(*this, scope, false);
  generation->body = parse_block("endgeneration");
  return generation;
}

}  // namespace titan::text::jinja
