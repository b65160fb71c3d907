#include "titan/text/jinja/expressions.h"

#include "titan/text/jinja/print.h"
#include "titan/text/jinja/statements.h"

namespace titan::text::jinja {
namespace {

constexpr const char* kNoItem = "there is no such item";
constexpr const char* kNoElse = "the condition is false and there is no else";

// Dict keys must be values that cannot change.
void check_key(Context& context, const Value& key) {
  context.defined(key);
  if (key.is(Kind::kList) || key.is(Kind::kDict)) {
    context.fail("a {} cannot be a key", type_name(key));
  }
}

Value evaluate_or_none(Context& context, const ExpressionPtr& expression) {
  return expression ? context.evaluate(*expression) : Value::none();
}

std::span<const Value> evaluate_all(
    Context& context, std::span<const ExpressionPtr> expressions) {
  const std::span<Value> values = context.arena.make_array<Value>(expressions.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = context.evaluate(*expressions[i]);
  }
  return values;
}

// All are texts that are put together as they are.
bool are_plain_strings(std::span<const Value> values) {
  return std::ranges::all_of(values, [](const Value& value) {
    return value.is(Kind::kString) && !value.string().is_safe;
  });
}

Value concatenate_all(Context& context, std::span<const Value> values) {
  const std::span<const String*> strings =
      context.arena.make_array<const String*>(values.size());
  std::ranges::transform(
      values, strings.begin(), [](const Value& value) { return &value.string(); });
  return make_string(
      context.arena, concatenate(strings, context.limits.text, context.arena));
}

Value call_value(Context& context, const Value& callee, const Arguments& arguments) {
  if (context.defined(callee).is(Kind::kCallable)) {
    return callee.callable().call(context, arguments);
  }
  if (callee.is(Kind::kLoop) && callee.loop().statement()->is_recursive()) {
    if (arguments.positional.size() != 1 || !arguments.keywords.empty()) {
      context.fail("loop(): expected one argument");
    }
    return callee.loop().statement()->recurse(
        context, callee.loop(), arguments.positional[0]);
  }
  context.fail("a {} cannot be called", type_name(callee));
}

}  // namespace

AttributeExpression::AttributeExpression(
    Position position, ExpressionPtr owner, std::string name)
    : Expression(position),
      owner_(std::move(owner)),
      name_(std::move(name)),
      reason_(fmt::format("there is no attribute or item \"{}\"", name_)),
      string_method_(find_method(Kind::kString, name_)),
      dict_method_(find_method(Kind::kDict, name_)) {}

Value AttributeExpression::evaluate(Context& context) const {
  return get(context, context.evaluate(*owner_));
}

Value AttributeExpression::get(Context& context, const Value& owner) const {
  context.position = position();
  if (owner.is(Kind::kDict) && dict_method_ == nullptr) {
    if (const Value* const item = owner.dict().find(name_)) {
      return *item;
    }
  }
  return get_attribute(context, owner, name_, reason_.c_str());
}

const Builtin* AttributeExpression::method_of(const Value& owner) const {
  switch (owner.kind()) {
    case Kind::kString:
      return string_method_;
    case Kind::kDict:
      return dict_method_;
    default:
      return find_method(owner.kind(), name_);
  }
}

Value ItemExpression::evaluate(Context& context) const {
  const Value owner = context.evaluate(*owner_);
  const Value key = context.evaluate(*key_);
  context.position = position();
  return get_subscript(context, owner, key, kNoItem);
}

Value SliceExpression::evaluate(Context& context) const {
  const Value value = context.evaluate(*owner);
  const SliceBounds bounds{
      evaluate_or_none(context, begin),
      evaluate_or_none(context, end),
      evaluate_or_none(context, step)};
  context.position = position();
  return get_slice(context, value, bounds);
}

Arguments ArgumentList::evaluate(Context& context, const Value& caller) const {
  const std::span<Value> values = context.arena.make_array<Value>(positional.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = context.evaluate(*positional[i]);
  }
  const size_t extra = caller.is_missing() ? 0 : 1;
  const std::span<Keyword> named =
      context.arena.make_array<Keyword>(keywords.size() + extra);
  for (size_t i = 0; i < keywords.size(); ++i) {
    named[i] = {keywords[i].first, context.evaluate(*keywords[i].second)};
  }
  if (extra != 0) {
    named.back() = {"caller", caller};
  }
  return {values, named};
}

CallExpression::CallExpression(
    Position position, ExpressionPtr callee, ArgumentList arguments)
    : Expression(position),
      callee_(std::move(callee)),
      attribute_(dynamic_cast<const AttributeExpression*>(callee_.get())),
      arguments_(std::move(arguments)) {}

Value CallExpression::call(Context& context, const Value& caller) const {
  if (attribute_ == nullptr) {
    const Value callee = context.evaluate(*callee_);
    const Arguments arguments = arguments_.evaluate(context, caller);
    context.position = position();
    return call_value(context, callee, arguments);
  }
  const Value owner = context.evaluate(attribute_->owner());
  if (const Builtin* const method = attribute_->method_of(owner)) {
    const Arguments arguments = arguments_.evaluate(context, caller);
    context.position = position();
    return method->call(context, owner, arguments);
  }
  const Value callee = attribute_->get(context, owner);
  const Arguments arguments = arguments_.evaluate(context, caller);
  context.position = position();
  return call_value(context, callee, arguments);
}

Value BuiltinExpression::evaluate(Context& context) const {
  const Value value = context.evaluate(*value_);
  const Arguments arguments =
      arguments_.empty() ? Arguments() : arguments_.evaluate(context);
  context.position = position();
  return builtin_->call(context, value, arguments);
}

Value NegateExpression::evaluate(Context& context) const {
  const Value value = context.evaluate(*value_);
  context.position = position();
  return negate(context, value);
}

Value ArithmeticExpression::evaluate(Context& context) const {
  const Value a = context.evaluate(*a_);
  const Value b = context.evaluate(*b_);
  context.position = position();
  return calculate(context, operation_, a, b);
}

Value SumExpression::evaluate(Context& context) const {
  return add(context, evaluate_all(context, terms_));
}

void SumExpression::print(Context& context) const {
  const std::span<const Value> values = evaluate_all(context, terms_);
  context.position = position();
  if (!are_plain_strings(values)) {
    jinja::print(context, add(context, values));
    return;
  }
  for (const Value& value : values) {
    context.text.append(value.string());
  }
}

Value SumExpression::add(Context& context, std::span<const Value> values) const {
  context.position = position();
  if (are_plain_strings(values)) {
    return concatenate_all(context, values);
  }
  Value sum = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    context.position = positions_[i - 1];
    sum = calculate(context, Arithmetic::kAdd, sum, values[i]);
  }
  return sum;
}

Value ConcatenateExpression::evaluate(Context& context) const {
  const std::span<const Value> values = evaluate_all(context, parts_);
  context.position = position();
  if (are_plain_strings(values)) {
    return concatenate_all(context, values);
  }
  const size_t begin = context.text.size();
  for (const Value& value : values) {
    jinja::print(context, value);
  }
  return make_string(context.arena, context.text.take(begin, context.arena));
}

void ConcatenateExpression::print(Context& context) const {
  const std::span<const Value> values = evaluate_all(context, parts_);
  context.position = position();
  for (const Value& value : values) {
    jinja::print(context, value);
  }
}

Value CompareExpression::evaluate(Context& context) const {
  Value left = context.evaluate(*first_);
  for (const Operand& operand : operands_) {
    const Value right = context.evaluate(*operand.value);
    context.position = position();
    if (!compare(context, operand.operation, left, right)) {
      return Value(false);
    }
    left = right;
  }
  return Value(true);
}

Value LogicExpression::evaluate(Context& context) const {
  const Value a = context.evaluate(*a_);
  const bool decided = a.truth() == (operation_ == Operation::kOr);
  return decided ? a : context.evaluate(*b_);
}

Value ConditionalExpression::evaluate(Context& context) const {
  if (context.evaluate(*condition_).truth()) {
    return context.evaluate(*value_);
  }
  return otherwise_ ? context.evaluate(*otherwise_) : Value::undefined(kNoElse);
}

void ConditionalExpression::print(Context& context) const {
  if (context.evaluate(*condition_).truth()) {
    context.print(*value_);
  } else if (otherwise_) {
    context.print(*otherwise_);
  }
}

Value SequenceExpression::evaluate(Context& context) const {
  const std::span<const Value> values = evaluate_all(context, items_);
  return is_tuple_ ? make_tuple_value(context.arena, values)
                   : make_list(context.arena, values);
}

Value DictExpression::evaluate(Context& context) const {
  const std::span<Dict::Entry> entries =
      context.arena.make_array<Dict::Entry>(entries_.size());
  size_t size = 0;
  for (const auto& [key_expression, value_expression] : entries_) {
    const Value key = context.evaluate(*key_expression);
    const Value value = context.evaluate(*value_expression);
    context.position = position();
    check_key(context, key);
    const auto filled = entries.first(size);
    const auto known = std::ranges::find_if(
        filled, [&](const Dict::Entry& entry) { return equal(entry.key, key); });
    if (known != filled.end()) {
      known->value = value;
    } else {
      entries[size++] = {key, value};
    }
  }
  return make_dict(context.arena, entries.first(size));
}

}  // namespace titan::text::jinja
