#include "titan/text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "titan/text/jinja/text_operations.h"

namespace titan::text::jinja {
namespace {

constexpr const char* kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void fail_types(
    Context& context, const char* symbol, const Value& a, const Value& b) {
  context.defined(a);
  context.defined(b);
  context.fail(
      "unsupported operand types for {}: {} and {}", symbol, type_name(a), type_name(b));
}

[[noreturn]] void fail_overflow(Context& context) {
  context.fail("an int beyond 64 bits is not supported");
}

void check_divisor(Context& context, bool is_zero) {
  if (is_zero) {
    context.fail("division by zero");
  }
}

// Rounded down, as Python does; C rounds towards zero.
int64_t floor_divide(Context& context, int64_t a, int64_t b) {
  check_divisor(context, b == 0);
  if (a == std::numeric_limits<int64_t>::min() && b == -1) {
    fail_overflow(context);
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t modulo(Context& context, int64_t a, int64_t b) {
  check_divisor(context, b == 0);
  const int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo(Context& context, double a, double b) {
  check_divisor(context, b == 0);
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : std::copysign(rest, b);
}

Value power(Context& context, int64_t base, int64_t exponent) {
  if (exponent < 0) {
    check_divisor(context, base == 0);
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  bool overflow = false;
  while (exponent > 0) {
    if (exponent % 2 == 1) {
      overflow = overflow || __builtin_mul_overflow(result, base, &result);
    }
    exponent /= 2;
    overflow = overflow || (exponent > 0 && __builtin_mul_overflow(base, base, &base));
    if (overflow) {
      fail_overflow(context);
    }
  }
  return Value(result);
}

Value calculate_ints(Context& context, Arithmetic operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (operation) {
    case Arithmetic::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Arithmetic::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Arithmetic::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Arithmetic::kDivide:
      check_divisor(context, b == 0);
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case Arithmetic::kFloorDivide:
      return Value(floor_divide(context, a, b));
    case Arithmetic::kModulo:
      return Value(modulo(context, a, b));
    case Arithmetic::kPower:
      return power(context, a, b);
  }
  if (overflow) {
    fail_overflow(context);
  }
  return Value(result);
}

Value calculate_floats(Context& context, Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return Value(a + b);
    case Arithmetic::kSubtract:
      return Value(a - b);
    case Arithmetic::kMultiply:
      return Value(a * b);
    case Arithmetic::kDivide:
      check_divisor(context, b == 0);
      return Value(a / b);
    case Arithmetic::kFloorDivide:
      check_divisor(context, b == 0);
      return Value(std::floor(a / b));
    case Arithmetic::kModulo:
      return Value(modulo(context, a, b));
    case Arithmetic::kPower:
      if (a < 0 && b != std::floor(b)) {
        context.fail("complex numbers are not supported");
      }
      check_divisor(context, a == 0 && b < 0);
      return Value(std::pow(a, b));
  }
  return {};
}

Value concatenate_text(Context& context, const Value& a, const Value& b) {
  if (a.string().is_safe != b.string().is_safe) {
    return concatenate_text(
        context, escape_html(context, a.string()), escape_html(context, b.string()));
  }
  const String* const parts[] = {&a.string(), &b.string()};
  String result = jinja::concatenate(parts, context.limits.text, context.arena);
  result.is_safe = a.string().is_safe;
  return make_string(context.arena, result);
}

Value concatenate(Context& context, const Value& a, const Value& b) {
  if (a.is(Kind::kString)) {
    return concatenate_text(context, a, b);
  }
  const std::span<const Value> first = a.items();
  const std::span<const Value> second = b.items();
  context.count(first.size() + second.size());
  const std::span<Value> items =
      context.arena.make_array<Value>(first.size() + second.size());
  std::copy(second.begin(), second.end(), std::ranges::copy(first, items.begin()).out);
  return a.is(Kind::kList) ? make_list(context.arena, items)
                           : make_tuple_value(context.arena, items);
}

Value repeat(Context& context, const Value& value, int64_t times) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  const size_t size =
      value.is(Kind::kString) ? value.text().size() : value.items().size();
  if (size == 0 || n == 0) {
    return value.is(Kind::kString) ? make_string(context.arena, "")
           : value.is(Kind::kList) ? make_list(context.arena, {})
                                   : make_tuple_value(context.arena, {});
  }
  context.count(n);
  if (value.is(Kind::kString)) {
    const size_t begin = context.text.size();
    for (uint64_t i = 0; i < n; ++i) {
      context.text.append(value.string());
    }
    return make_string(context.arena, context.text.take(begin, context.arena));
  }
  context.count(n > context.limits.steps / size ? context.limits.steps : n * size);
  const std::span<Value> items = context.arena.make_array<Value>(n * size);
  for (uint64_t i = 0; i < n; ++i) {
    std::ranges::copy(value.items(), items.subspan(i * size).begin());
  }
  return value.is(Kind::kList) ? make_list(context.arena, items)
                               : make_tuple_value(context.arena, items);
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::kString) || value.is_sequence();
}

bool contains(Context& context, const Value& container, const Value& value) {
  if (container.is(Kind::kString)) {
    if (!context.defined(value).is(Kind::kString)) {
      context.fail("in: expected a str on the left of a str, got {}", type_name(value));
    }
    return container.text().find(value.text()) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) {
    context.count(container.dict().entries.size() / 8);
    return container.dict().find(value) != nullptr;
  }
  const std::span<const Value> items = context.iterate(container);
  context.count(items.size() / 4);
  return std::ranges::any_of(
      items, [&](const Value& item) { return equal(item, value); });
}

const char* symbol_of(Comparison operation) {
  switch (operation) {
    case Comparison::kLess:
      return "<";
    case Comparison::kLessOrEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    default:
      return ">=";
  }
}

// -1, 0 or 1; 2 where a number is NaN.
int order(Context& context, const char* symbol, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return (a.integer() > b.integer()) - (a.integer() < b.integer());
  }
  if (a.is_number() && b.is_number()) {
    const double x = a.number();
    const double y = b.number();
    return std::isnan(x) || std::isnan(y) ? 2 : (x > y) - (x < y);
  }
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    const int result = a.text().compare(b.text());
    return (result > 0) - (result < 0);
  }
  if (!a.is_sequence() || a.kind() != b.kind()) {
    fail_types(context, symbol, a, b);
  }
  const std::span<const Value> x = a.items();
  const std::span<const Value> y = b.items();
  context.count(std::min(x.size(), y.size()));
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (!equal(x[i], y[i])) {
      return order(context, symbol, x[i], y[i]);
    }
  }
  return (x.size() > y.size()) - (x.size() < y.size());
}

}  // namespace

Value calculate(Context& context, Arithmetic operation, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return calculate_ints(context, operation, a.integer(), b.integer());
  }
  if (a.is_number() && b.is_number()) {
    return calculate_floats(context, operation, a.number(), b.number());
  }
  if (operation == Arithmetic::kAdd && a.kind() == b.kind() && is_repeatable(a)) {
    return concatenate(context, a, b);
  }
  if (operation == Arithmetic::kMultiply && is_repeatable(a) && b.is_integral()) {
    return repeat(context, a, b.integer());
  }
  if (operation == Arithmetic::kMultiply && is_repeatable(b) && a.is_integral()) {
    return repeat(context, b, a.integer());
  }
  if (operation == Arithmetic::kModulo && a.is(Kind::kString)) {
    return format_percent(
        context,
        a.string(),
        b.is(Kind::kTuple) ? b.items() : std::span<const Value>(&b, 1));
  }
  fail_types(context, kSymbols[static_cast<size_t>(operation)], a, b);
}

Value negate(Context& context, const Value& value) {
  if (value.is(Kind::kFloat)) {
    return Value(-value.number());
  }
  if (!context.defined(value).is_integral()) {
    context.fail("unsupported operand type for unary -: {}", type_name(value));
  }
  return calculate_ints(context, Arithmetic::kSubtract, 0, value.integer());
}

bool compare(Context& context, Comparison operation, const Value& a, const Value& b) {
  switch (operation) {
    case Comparison::kEqual:
      return equal(a, b);
    case Comparison::kUnequal:
      return !equal(a, b);
    case Comparison::kIn:
      return contains(context, b, a);
    case Comparison::kNotIn:
      return !contains(context, b, a);
    default:
      break;
  }
  const int result = order(context, symbol_of(operation), a, b);
  switch (operation) {
    case Comparison::kLess:
      return result == -1;
    case Comparison::kLessOrEqual:
      return result == -1 || result == 0;
    case Comparison::kGreater:
      return result == 1;
    default:
      return result == 0 || result == 1;
  }
}

bool less(Context& context, const Value& a, const Value& b) {
  return order(context, "<", a, b) == -1;
}

}  // namespace titan::text::jinja
