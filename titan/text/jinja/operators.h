#pragma once
// Python's operators on values. Errors name the operator and the types.

#include "titan/text/jinja/context.h"

namespace titan::text::jinja {

enum class Arithmetic {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};

enum class Comparison {
  kEqual,
  kUnequal,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kNotIn
};

[[nodiscard]] Value calculate(
    Context& context, Arithmetic operation, const Value& a, const Value& b);

[[nodiscard]] Value negate(Context& context, const Value& value);

[[nodiscard]] bool compare(
    Context& context, Comparison operation, const Value& a, const Value& b);

// a < b; an error where the types have no order.
[[nodiscard]] bool less(Context& context, const Value& a, const Value& b);

// value[key], or the undefined value with `reason` where there is no such item.
[[nodiscard]] Value get_item(
    Context& context, const Value& value, const Value& key, const char* reason);

struct SliceBounds {
  Value begin;  // None or an int, as the other two
  Value end;
  Value step;
};

// value[begin:end:step].
[[nodiscard]] Value get_slice(
    Context& context, const Value& value, const SliceBounds& bounds);

// The `%` of a str, and the filter `format`.
[[nodiscard]] Value format_percent(
    Context& context, const String& format, std::span<const Value> arguments);

}  // namespace titan::text::jinja
