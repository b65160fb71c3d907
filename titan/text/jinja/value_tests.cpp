// The tests: `value is ...`.

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

template <Kind kKind>
Value has_kind(Context&, const Value& self, const Arguments&) {
  return Value(self.is(kKind));
}

Value is_defined(Context&, const Value& self, const Arguments&) {
  return Value(!self.is_undefined());
}

Value is_true(Context&, const Value& self, const Arguments&) {
  return Value(self.is(Kind::kBool) && self.boolean());
}

Value is_false(Context&, const Value& self, const Arguments&) {
  return Value(self.is(Kind::kBool) && !self.boolean());
}

Value is_number(Context&, const Value& self, const Arguments&) {
  return Value(self.is_number());
}

// Has a length and items: an undefined value too, as jinja2 has it.
Value is_sequence(Context&, const Value& self, const Arguments&) {
  switch (self.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
      return Value(true);
    case Kind::kIterator:
      return Value(self.iterator().type == "range");
    default:
      return Value(false);
  }
}

Value is_iterable(Context&, const Value& self, const Arguments&) {
  switch (self.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kIterator:
      return Value(true);
    default:
      return Value(false);
  }
}

// An undefined value too: it can be called, which is an error.
Value is_callable(Context&, const Value& self, const Arguments&) {
  return Value(self.is(Kind::kCallable) || self.is(Kind::kLoop) || self.is_undefined());
}

template <Comparison kComparison>
Value compares(Context& context, const Value& self, const Arguments& arguments) {
  return Value(compare(context, kComparison, self, arguments.positional[0]));
}

Value is_same(Context&, const Value& self, const Arguments& arguments) {
  return Value(self.same(arguments.positional[0]));
}

bool divides(Context& context, const Value& self, const Value& divisor) {
  const Value rest = calculate(context, Arithmetic::kModulo, self, divisor);
  return rest.is_number() && rest.number() == 0;
}

Value is_divisible(Context& context, const Value& self, const Arguments& arguments) {
  return Value(divides(context, self, arguments.positional[0]));
}

Value is_even(Context& context, const Value& self, const Arguments&) {
  return Value(divides(context, self, Value(int64_t{2})));
}

Value is_odd(Context& context, const Value& self, const Arguments&) {
  const Value rest = calculate(context, Arithmetic::kModulo, self, Value(int64_t{2}));
  return Value(rest.is_number() && rest.number() == 1);
}

template <CharacterClass kClass>
Value is_in_class(Context& context, const Value& self, const Arguments&) {
  return Value(is_class(context.to_string(self).text, kClass));
}

std::string_view name_of(Context& context, const Value& self) {
  return context.to_string(self).text;
}

Value is_filter(Context& context, const Value& self, const Arguments&) {
  return Value(find_filter(name_of(context, self)) != nullptr);
}

Value is_test(Context& context, const Value& self, const Arguments&) {
  return Value(find_test(name_of(context, self)) != nullptr);
}

constexpr Builtin with_other(std::string_view name, Builtin::Function function) {
  return {.name = name, .function = function, .parameters = {"other"}, .required = 1};
}

Value is_undefined(Context&, const Value& self, const Arguments&) {
  return Value(self.is_undefined());
}

constexpr Builtin kTests[] = {
    with_other("!=", compares<Comparison::kUnequal>),
    with_other("<", compares<Comparison::kLess>),
    with_other("<=", compares<Comparison::kLessOrEqual>),
    with_other("==", compares<Comparison::kEqual>),
    with_other(">", compares<Comparison::kGreater>),
    with_other(">=", compares<Comparison::kGreaterOrEqual>),
    {.name = "boolean", .function = has_kind<Kind::kBool>},
    {.name = "callable", .function = is_callable},
    {.name = "defined", .function = is_defined},
    with_other("divisibleby", is_divisible),
    with_other("eq", compares<Comparison::kEqual>),
    with_other("equalto", compares<Comparison::kEqual>),
    {.name = "even", .function = is_even},
    {.name = "false", .function = is_false},
    {.name = "filter", .function = is_filter},
    {.name = "float", .function = has_kind<Kind::kFloat>},
    with_other("ge", compares<Comparison::kGreaterOrEqual>),
    with_other("greaterthan", compares<Comparison::kGreater>),
    with_other("gt", compares<Comparison::kGreater>),
    with_other("in", compares<Comparison::kIn>),
    {.name = "integer", .function = has_kind<Kind::kInt>},
    {.name = "iterable", .function = is_iterable},
    with_other("le", compares<Comparison::kLessOrEqual>),
    with_other("lessthan", compares<Comparison::kLess>),
    {.name = "lower", .function = is_in_class<CharacterClass::kLower>},
    with_other("lt", compares<Comparison::kLess>),
    {.name = "mapping", .function = has_kind<Kind::kDict>},
    with_other("ne", compares<Comparison::kUnequal>),
    {.name = "none", .function = has_kind<Kind::kNone>},
    {.name = "number", .function = is_number},
    {.name = "odd", .function = is_odd},
    with_other("sameas", is_same),
    {.name = "sequence", .function = is_sequence},
    {.name = "string", .function = has_kind<Kind::kString>},
    {.name = "test", .function = is_test},
    {.name = "true", .function = is_true},
    {.name = "undefined", .function = is_undefined},
    {.name = "upper", .function = is_in_class<CharacterClass::kUpper>},
};

}  // namespace

std::span<const Builtin> value_tests() {
  return kTests;
}

}  // namespace titan::text::jinja
