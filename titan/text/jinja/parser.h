#pragma once
// Tokens to the tree of statements and expressions.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/text/jinja/expressions.h"
#include "titan/text/jinja/lexer.h"
#include "titan/text/jinja/scope.h"
#include "titan/text/jinja/statements.h"

namespace titan::text::jinja {

// A compiled template. Literals live in `arena`.
struct Program {
  Arena arena;
  ScopeTree scopes;
  Body body;
  bool has_generation = false;  // a {% generation %} block
};

// Parses one template. Every construct that titan does not support is a FormatError with
// line and column.
class Parser {
 public:
  Parser(std::string_view source, const std::string& template_name, Program& program);

  void run();

 private:
  // Depth of the C++ stack that one level of nesting needs is bounded by the grammar;
  // this bounds the levels, of brackets and blocks as well as of chains like a.b.c or a +
  // b.
  static constexpr size_t kMaxNesting = 1000;

  class Nesting;

  // What names are declared and looked up in, and whether `break` is possible.
  class ScopeGuard;

  // --- tokens
  [[nodiscard]] const Token& token() const { return tokens_[at_]; }

  [[nodiscard]] const Token& next_token() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }

  Token take() { return std::move(tokens_[at_++]); }

  bool take_operator(std::string_view symbol);
  bool take_name(std::string_view name);
  void expect_operator(std::string_view symbol);
  Token expect_name(std::string_view what);
  void expect_block_end();
  [[noreturn]] void fail_unexpected(std::string_view expected) const;

  template <class... Args>
  [[noreturn]] void fail_here(
      Position position, fmt::format_string<Args...> format, Args&&... args) const {
    fail_at(template_name_, position, format, std::forward<Args>(args)...);
  }

  // --- statements (parse_statements.cpp)
  // Up to a block that starts with one of `ends`, whose name is then the current token.
  Body parse_body(std::initializer_list<std::string_view> ends);
  // The same, and the rest of the block that ends it.
  Body parse_block(std::string_view end);
  void parse_print(Body& body);
  std::unique_ptr<const Statement> parse_statement();
  std::unique_ptr<const Statement> parse_if();
  std::unique_ptr<const Statement> parse_for();
  [[nodiscard]] bool is_recursive_loop() const;
  std::unique_ptr<const Statement> parse_break(Position position, Flow flow);
  std::unique_ptr<const Statement> parse_set();
  std::unique_ptr<const Statement> parse_filter_block();
  std::unique_ptr<const Statement> parse_with();
  std::unique_ptr<const Statement> parse_macro();
  std::unique_ptr<const Statement> parse_call(Position position);
  std::unique_ptr<const Statement> parse_generation();
  void parse_signature(MacroCode& code);
  // The body of a macro or call block, in `scope`.
  void parse_macro_code(MacroCode& code, Scope* scope, std::string_view end);
  // From the filters, of which the first stands without "|" where `names_filter`.
  std::unique_ptr<CaptureStatement> parse_capture(
      std::string_view end, bool names_filter);
  Target parse_target(bool with_namespace);
  Target parse_one_target(bool with_namespace);
  [[nodiscard]] Target name_target(const Token& name);

  // --- expressions (parse_expressions.cpp)
  // With commas: a tuple.
  ExpressionPtr parse_tuple(bool with_conditional, std::string_view end_name);
  ExpressionPtr parse_expression();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  // The terms after `first`, up to what is no "+".
  ExpressionPtr parse_added(ExpressionPtr first);
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name(const Token& name);
  ExpressionPtr parse_string(const Token& first);
  ExpressionPtr parse_number(const Token& number);
  ExpressionPtr parse_parenthesis(Position position);
  ExpressionPtr parse_list(Position position);
  ExpressionPtr parse_dict(Position position);
  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_attribute(ExpressionPtr owner, Position position);
  ExpressionPtr parse_subscript(ExpressionPtr owner, Position position);
  // `value` through the filters and tests that follow.
  ExpressionPtr parse_filters_and_tests(ExpressionPtr value);
  ExpressionPtr parse_filter(ExpressionPtr value);
  ExpressionPtr parse_test(ExpressionPtr value);
  ArgumentList parse_arguments();
  std::string parse_dotted_name(std::string_view what);
  [[nodiscard]] bool at_tuple_end(std::string_view end_name) const;
  ExpressionPtr make_name(Position position, const std::string& name);
  [[nodiscard]] ExpressionPtr make_literal(Position position, const Value& value) const;

  const std::string& template_name_;
  Program& program_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t nesting_ = 0;
  Scope* scope_;
  bool in_loop_ = false;
  std::vector<std::pair<MacroCode*, Scope*>> macros_;
};

// Counts levels of nesting while it lives; add() is for one more of a chain.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser), outer_(parser.nesting_) { add(); }

  ~Nesting() { parser_.nesting_ = outer_; }

  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  void add() {
    if (++parser_.nesting_ > kMaxNesting) {
      parser_.fail_here(
          parser_.token().position, "nested deeper than {} levels", kMaxNesting);
    }
  }

 private:
  Parser& parser_;
  size_t outer_;
};

class Parser::ScopeGuard {
 public:
  ScopeGuard(Parser& parser, Scope* scope, bool in_loop)
      : parser_(parser), scope_(parser.scope_), in_loop_(parser.in_loop_) {
    parser.scope_ = scope;
    parser.in_loop_ = in_loop;
  }

  ~ScopeGuard() {
    parser_.scope_ = scope_;
    parser_.in_loop_ = in_loop_;
  }

  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Parser& parser_;
  Scope* scope_;
  bool in_loop_;
};

}  // namespace titan::text::jinja
