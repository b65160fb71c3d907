#pragma once
// The expressions of a template.

#include <string>
#include <utility>
#include <vector>

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/node.h"
#include "titan/text/jinja/operators.h"

namespace titan::text::jinja {

class LiteralExpression final : public Expression {
 public:
  // `value` lives in the template's arena.
  LiteralExpression(Position position, Value value)
      : Expression(position), value_(value) {}

  [[nodiscard]] Value evaluate(Context&) const override { return value_; }

 private:
  Value value_;
};

// A slot of the current activation that has no name.
class SlotExpression final : public Expression {
 public:
  SlotExpression(Position position, uint32_t slot) : Expression(position), slot_(slot) {}

  [[nodiscard]] Value evaluate(Context& context) const override {
    return context.frame->slots[slot_];
  }

 private:
  uint32_t slot_;
};

// owner.name
class AttributeExpression final : public Expression {
 public:
  AttributeExpression(Position position, ExpressionPtr owner, std::string name);

  [[nodiscard]] Value evaluate(Context& context) const override;

  [[nodiscard]] const Expression& owner() const { return *owner_; }

  // The attribute of a value that was evaluated already.
  [[nodiscard]] Value get(Context& context, const Value& owner) const;

  // The method of that name, or null.
  [[nodiscard]] const Builtin* method_of(const Value& owner) const;

 private:
  ExpressionPtr owner_;
  std::string name_;
  std::string reason_;
  const Builtin* string_method_;
  const Builtin* dict_method_;
};

// owner[key]
class ItemExpression final : public Expression {
 public:
  ItemExpression(Position position, ExpressionPtr owner, ExpressionPtr key)
      : Expression(position), owner_(std::move(owner)), key_(std::move(key)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  ExpressionPtr owner_;
  ExpressionPtr key_;
};

// owner[begin:end:step], each of which may be null.
class SliceExpression final : public Expression {
 public:
  SliceExpression(Position position, ExpressionPtr owner) : Expression(position) {
    this->owner = std::move(owner);
  }

  [[nodiscard]] Value evaluate(Context& context) const override;

  ExpressionPtr owner;
  ExpressionPtr begin;
  ExpressionPtr end;
  ExpressionPtr step;
};

// What stands between the parentheses of a call.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keywords;

  [[nodiscard]] bool empty() const { return positional.empty() && keywords.empty(); }

  // `caller`: one more keyword argument of that name, unless missing.
  [[nodiscard]] Arguments evaluate(Context& context, const Value& caller = {}) const;
};

// callee(arguments)
class CallExpression final : public Expression {
 public:
  CallExpression(Position position, ExpressionPtr callee, ArgumentList arguments);

  [[nodiscard]] Value evaluate(Context& context) const override {
    return call(context, Value());
  }

  // With the body of a {% call %} block.
  [[nodiscard]] Value call(Context& context, const Value& caller) const;

 private:
  ExpressionPtr callee_;
  const AttributeExpression* attribute_;  // where the callee is one
  ArgumentList arguments_;
};

// value|name(arguments) and `value is name arguments`.
class BuiltinExpression final : public Expression {
 public:
  BuiltinExpression(
      Position position,
      const Builtin* builtin,
      ExpressionPtr value,
      ArgumentList arguments)
      : Expression(position),
        builtin_(builtin),
        value_(std::move(value)),
        arguments_(std::move(arguments)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  const Builtin* builtin_;
  ExpressionPtr value_;
  ArgumentList arguments_;
};

class NegateExpression final : public Expression {
 public:
  NegateExpression(Position position, ExpressionPtr value)
      : Expression(position), value_(std::move(value)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  ExpressionPtr value_;
};

class NotExpression final : public Expression {
 public:
  NotExpression(Position position, ExpressionPtr value)
      : Expression(position), value_(std::move(value)) {}

  [[nodiscard]] Value evaluate(Context& context) const override {
    return Value(!context.evaluate(*value_).truth());
  }

 private:
  ExpressionPtr value_;
};

class ArithmeticExpression final : public Expression {
 public:
  ArithmeticExpression(
      Position position, Arithmetic operation, ExpressionPtr a, ExpressionPtr b)
      : Expression(position), operation_(operation), a_(std::move(a)), b_(std::move(b)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  Arithmetic operation_;
  ExpressionPtr a_;
  ExpressionPtr b_;
};

// a + b + ...: texts are put together at once.
class SumExpression final : public Expression {
 public:
  // `positions`: of each "+".
  SumExpression(
      Position position,
      std::vector<ExpressionPtr> terms,
      std::vector<Position> positions)
      : Expression(position),
        terms_(std::move(terms)),
        positions_(std::move(positions)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;
  void print(Context& context) const override;

 private:
  [[nodiscard]] Value add(Context& context, std::span<const Value> values) const;

  std::vector<ExpressionPtr> terms_;
  std::vector<Position> positions_;
};

// a ~ b ~ ...
class ConcatenateExpression final : public Expression {
 public:
  ConcatenateExpression(Position position, std::vector<ExpressionPtr> parts)
      : Expression(position), parts_(std::move(parts)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;
  void print(Context& context) const override;

 private:
  std::vector<ExpressionPtr> parts_;
};

// first op operand op operand ...: all must hold, the first that does not ends it.
class CompareExpression final : public Expression {
 public:
  struct Operand {
    Comparison operation;
    ExpressionPtr value;
  };

  CompareExpression(Position position, ExpressionPtr first, std::vector<Operand> operands)
      : Expression(position), first_(std::move(first)), operands_(std::move(operands)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  ExpressionPtr first_;
  std::vector<Operand> operands_;
};

// `and` and `or` give one of their operands, as in Python.
class LogicExpression final : public Expression {
 public:
  enum class Operation { kAnd, kOr };

  LogicExpression(
      Position position, Operation operation, ExpressionPtr a, ExpressionPtr b)
      : Expression(position), operation_(operation), a_(std::move(a)), b_(std::move(b)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  Operation operation_;
  ExpressionPtr a_;
  ExpressionPtr b_;
};

// value if condition else otherwise; undefined where `otherwise` is null.
class ConditionalExpression final : public Expression {
 public:
  ConditionalExpression(
      Position position,
      ExpressionPtr condition,
      ExpressionPtr value,
      ExpressionPtr otherwise)
      : Expression(position),
        condition_(std::move(condition)),
        value_(std::move(value)),
        otherwise_(std::move(otherwise)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;
  void print(Context& context) const override;

 private:
  ExpressionPtr condition_;
  ExpressionPtr value_;
  ExpressionPtr otherwise_;
};

// [a, b] and (a, b)
class SequenceExpression final : public Expression {
 public:
  SequenceExpression(Position position, bool is_tuple, std::vector<ExpressionPtr> items)
      : Expression(position), is_tuple_(is_tuple), items_(std::move(items)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  bool is_tuple_;
  std::vector<ExpressionPtr> items_;
};

// {key: value, ...}
class DictExpression final : public Expression {
 public:
  using Entries = std::vector<std::pair<ExpressionPtr, ExpressionPtr>>;

  DictExpression(Position position, Entries entries)
      : Expression(position), entries_(std::move(entries)) {}

  [[nodiscard]] Value evaluate(Context& context) const override;

 private:
  Entries entries_;
};

}  // namespace titan::text::jinja
