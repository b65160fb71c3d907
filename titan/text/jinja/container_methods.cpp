// The methods of dict, list and tuple. What would change them is refused, as in
// transformers' sandbox.

#include "titan/text/jinja/callable.h"

namespace titan::text::jinja {
namespace {

Value get(Context& context, const Value& self, const Arguments& arguments) {
  context.count(self.dict().entries.size() / 8);
  if (const Value* const found = self.dict().find(arguments.positional[0])) {
    return *found;
  }
  const Value& otherwise = arguments.positional[1];
  return otherwise.is_missing() ? Value::none() : otherwise;
}

template <bool kKeys>
Value keys_or_values(Context& context, const Value& self, const Arguments&) {
  const std::span<const Dict::Entry> entries = self.dict().entries;
  context.count(entries.size());
  const std::span<Value> items = context.arena.make_array<Value>(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    items[i] = kKeys ? entries[i].key : entries[i].value;
  }
  return make_view(context.arena, kKeys ? "dict_keys" : "dict_values", items);
}

Value items(Context& context, const Value& self, const Arguments&) {
  return make_view(context.arena, "dict_items", dict_items(context, self.dict()));
}

Value copy(Context&, const Value& self, const Arguments&) {
  return self;  // nothing can change it
}

Value index(Context& context, const Value& self, const Arguments& arguments) {
  const std::span<const Value> values = self.items();
  context.count(values.size() / 4);
  for (size_t i = 0; i < values.size(); ++i) {
    if (equal(values[i], arguments.positional[0])) {
      return Value(static_cast<int64_t>(i));
    }
  }
  context.fail("index: the value is not in the {}", type_name(self));
}

Value count(Context& context, const Value& self, const Arguments& arguments) {
  context.count(self.items().size() / 4);
  return Value(
      static_cast<int64_t>(std::ranges::count_if(self.items(), [&](const Value& item) {
        return equal(item, arguments.positional[0]);
      })));
}

Value refuse(Context& context, const Value& self, const Arguments&) {
  context.fail("changing a {} is refused", type_name(self));
}

constexpr Builtin kDictMethods[] = {
    {.name = "clear", .function = refuse, .any_arguments = true},
    {.name = "copy", .function = copy},
    {.name = "get", .function = get, .parameters = {"key", "default"}, .required = 1},
    {.name = "items", .function = items},
    {.name = "keys", .function = keys_or_values<true>},
    {.name = "pop", .function = refuse, .any_arguments = true},
    {.name = "popitem", .function = refuse, .any_arguments = true},
    {.name = "setdefault", .function = refuse, .any_arguments = true},
    {.name = "update", .function = refuse, .any_arguments = true},
    {.name = "values", .function = keys_or_values<false>},
};

constexpr Builtin kListMethods[] = {
    {.name = "append", .function = refuse, .any_arguments = true},
    {.name = "clear", .function = refuse, .any_arguments = true},
    {.name = "copy", .function = copy},
    {.name = "count", .function = count, .parameters = {"value"}, .required = 1},
    {.name = "extend", .function = refuse, .any_arguments = true},
    {.name = "index", .function = index, .parameters = {"value"}, .required = 1},
    {.name = "insert", .function = refuse, .any_arguments = true},
    {.name = "pop", .function = refuse, .any_arguments = true},
    {.name = "remove", .function = refuse, .any_arguments = true},
    {.name = "reverse", .function = refuse, .any_arguments = true},
    {.name = "sort", .function = refuse, .any_arguments = true},
};

}  // namespace

std::span<const Value> dict_items(Context& context, const Dict& dict) {
  context.count(dict.entries.size());
  const std::span<Value> items = context.arena.make_array<Value>(dict.entries.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const std::span<Value> pair = context.arena.make_array<Value>(2);
    pair[0] = dict.entries[i].key;
    pair[1] = dict.entries[i].value;
    items[i] = make_tuple_value(context.arena, pair);
  }
  return items;
}

std::span<const Builtin> dict_methods() {
  return kDictMethods;
}

std::span<const Builtin> list_methods() {
  return kListMethods;
}

}  // namespace titan::text::jinja
