#pragma once
// The statements of a template.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "titan/text/jinja/expressions.h"
#include "titan/text/jinja/loop_state.h"
#include "titan/text/jinja/node.h"
#include "titan/text/jinja/scope.h"

namespace titan::text::jinja {

// What a value is assigned to: a variable, an attribute of a namespace, or several.
struct Target {
  Position position;
  uint32_t slot = 0;         // of a variable
  ExpressionPtr name_space;  // with `attribute`
  std::string attribute;
  std::vector<Target> items;  // where not empty: the value is unpacked
  bool is_unpacked = false;

  void assign(Context& context, const Value& value) const;
};

class TextStatement final : public Statement {
 public:
  explicit TextStatement(std::string text) : text_(std::move(text)) {}

  Flow run(Context& context) const override;

 private:
  std::string text_;
};

class PrintStatement final : public Statement {
 public:
  explicit PrintStatement(ExpressionPtr value) : value_(std::move(value)) {}

  Flow run(Context& context) const override;

 private:
  ExpressionPtr value_;
};

class IfStatement final : public Statement {
 public:
  struct Branch {
    ExpressionPtr condition;  // null: else
    Body body;
  };

  explicit IfStatement(std::vector<Branch> branches) : branches_(std::move(branches)) {}

  Flow run(Context& context) const override;

 private:
  std::vector<Branch> branches_;
};

class ForStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  [[nodiscard]] bool is_recursive() const { return activation != nullptr; }

  // loop(items) in the body: what the whole loop prints for them.
  [[nodiscard]] Value recurse(
      Context& context, const LoopState& loop, const Value& items) const;

  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  // null: all items
  Body body;
  Body otherwise;
  const Scope* scope = nullptr;  // of the body
  const Scope* otherwise_scope = nullptr;
  uint32_t loop_slot = 0;
  const Activation* activation = nullptr;  // of a recursive loop

 private:
  Flow run_items(Context& context, std::span<const Value> items, int64_t depth) const;
  [[nodiscard]] std::span<const Value> filter(
      Context& context, std::span<const Value> items) const;
};

class BreakStatement final : public Statement {
 public:
  explicit BreakStatement(Flow flow) : flow_(flow) {}

  Flow run(Context&) const override { return flow_; }

 private:
  Flow flow_;
};

class SetStatement final : public Statement {
 public:
  SetStatement(Target target, ExpressionPtr value)
      : target_(std::move(target)), value_(std::move(value)) {}

  Flow run(Context& context) const override;

 private:
  Target target_;
  ExpressionPtr value_;
};

// What `body` prints goes through `result`, which reads it from `slot`, and then to
// `target`: {% set x %} and {% filter %}, which has none and prints.
class CaptureStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  std::optional<Target> target;
  Body body;
  const Scope* scope = nullptr;
  uint32_t slot = 0;
  ExpressionPtr result;
};

class WithStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
  const Scope* scope = nullptr;
};

// {% generation %}: what the body prints is the assistant's.
class GenerationStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  Body body;
  const Scope* scope = nullptr;
};

// The code of a macro or of a {% call %} body.
struct MacroCode {
  struct Parameter {
    std::string name;
    uint32_t slot;
    ExpressionPtr otherwise;  // null: no default
    std::string reason;       // of its use where it is not given
  };

  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  const Activation* activation = nullptr;
  // Where the body reads them; they are then accepted in a call.
  std::optional<uint32_t> caller_slot;
  std::optional<uint32_t> varargs_slot;
  std::optional<uint32_t> kwargs_slot;
};

class MacroStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  MacroCode code;
  uint32_t slot = 0;
};

class CallStatement final : public Statement {
 public:
  Flow run(Context& context) const override;

  std::unique_ptr<const CallExpression> call;
  MacroCode code;
};

}  // namespace titan::text::jinja
