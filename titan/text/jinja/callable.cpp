#include "titan/text/jinja/callable.h"

#include "titan/text/jinja/loop_state.h"
#include "titan/text/jinja/operators.h"

namespace titan::text::jinja {
namespace {

const Builtin* find(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Builtin::name);
  return found == table.end() ? nullptr : &*found;
}

// The attribute that is no method and no item; missing where there is none.
Value find_member(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Kind::kNamespace: {
      const Namespace::Entry* const entry = value.name_space().find(name);
      return entry == nullptr ? Value() : entry->value;
    }
    case Kind::kLoop:
      return value.loop().attribute(name);
    case Kind::kTuple:
      if (value.list().is_group && name == "grouper") {
        return value.items()[0];
      }
      return value.list().is_group && name == "list" ? value.items()[1] : Value();
    default:
      return {};
  }
}

Value find_method_or_member(Context& context, const Value& value, std::string_view name) {
  if (const Builtin* const method = find_method(value.kind(), name)) {
    return Value(
        static_cast<const Callable*>(context.arena.make<BoundBuiltin>(method, value)));
  }
  return find_member(value, name);
}

void refuse_private(Context& context, std::string_view name) {
  if (name.starts_with('_')) {
    context.fail("access to \"{}\" is refused", name);
  }
}

}  // namespace

const Value* Arguments::find(std::string_view name) const {
  const auto found = std::ranges::find(keywords, name, &Keyword::name);
  return found == keywords.end() ? nullptr : &found->value;
}

Value Builtin::call(
    Context& context, const Value& self, const Arguments& arguments) const {
  if (any_arguments) {
    return function(context, self, arguments);
  }
  const size_t count = num_parameters();
  std::array<Value, kMaxParameters> values;
  if (arguments.positional.size() > count) {
    context.fail(
        "{}: expected at most {} arguments, got {}",
        name,
        count,
        arguments.positional.size());
  }
  std::ranges::copy(arguments.positional, values.begin());
  for (const Keyword& keyword : arguments.keywords) {
    const auto index = static_cast<size_t>(
        std::ranges::find(parameters, keyword.name) - parameters.begin());
    if (index >= count) {
      context.fail("{}: there is no argument \"{}\"", name, keyword.name);
    }
    if (!values[index].is_missing()) {
      context.fail("{}: argument \"{}\" is given twice", name, keyword.name);
    }
    values[index] = keyword.value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values[i].is_missing()) {
      context.fail("{}: argument \"{}\" is missing", name, parameters[i]);
    }
  }
  return function(context, self, {std::span(values).first(count), {}});
}

const Builtin* find_filter(std::string_view name) {
  for (const std::span<const Builtin> table :
       {text_filters(), sequence_filters(), value_filters()}) {
    if (const Builtin* const filter = find(table, name)) {
      return filter;
    }
  }
  return nullptr;
}

const Builtin* find_test(std::string_view name) {
  return find(value_tests(), name);
}

const Builtin* find_method(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kString:
      return find(string_methods(), name);
    case Kind::kDict:
      return find(dict_methods(), name);
    case Kind::kList:
    case Kind::kTuple:
      return find(list_methods(), name);
    case Kind::kLoop:
      return find(loop_methods(), name);
    default:
      return nullptr;
  }
}

const Builtin* find_function(std::string_view name) {
  return find(functions(), name);
}

Value get_attribute(
    Context& context, const Value& value, std::string_view name, const char* reason) {
  const Value member = find_method_or_member(context, context.defined(value), name);
  if (!member.is_missing()) {
    return member;
  }
  if (value.is(Kind::kDict)) {
    context.count(value.dict().entries.size() / 8);
    if (const Value* const item = value.dict().find(name)) {
      return *item;
    }
  }
  refuse_private(context, name);
  return Value::undefined(reason);
}

Value get_subscript(
    Context& context, const Value& value, const Value& key, const char* reason) {
  const Value item = get_item(context, context.defined(value), key, reason);
  if (!item.is_undefined() || !key.is(Kind::kString)) {
    return item;
  }
  refuse_private(context, key.text());
  const Value member = find_method_or_member(context, value, key.text());
  return member.is_missing() ? item : member;
}

}  // namespace titan::text::jinja
