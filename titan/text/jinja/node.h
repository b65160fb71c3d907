#pragma once
// What a template is compiled to: a tree that is walked to render it.

#include <cstdint>
#include <memory>
#include <vector>

#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

struct Context;

// Counted from 1; the column in bytes.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

// Immutable once the template is compiled, so that threads may share it.
class Expression {
 public:
  explicit Expression(Position position) : position_(position) {}

  virtual ~Expression() = default;

  // Through Context::evaluate(), which counts.
  [[nodiscard]] virtual Value evaluate(Context& context) const = 0;

  // Appends str() of the value to context.text, without making the value where that saves
  // copies. Through Context::print(), which counts.
  virtual void print(Context& context) const;

  [[nodiscard]] Position position() const { return position_; }

 private:
  Position position_;
};

using ExpressionPtr = std::unique_ptr<const Expression>;

// How a statement ended.
enum class Flow { kNext, kBreak, kContinue };

class Statement {
 public:
  virtual ~Statement() = default;

  // Through Context::run(), which counts.
  virtual Flow run(Context& context) const = 0;
};

using Body = std::vector<std::unique_ptr<const Statement>>;

}  // namespace titan::text::jinja
