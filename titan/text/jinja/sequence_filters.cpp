// The filters on sequences.

#include <algorithm>
#include <optional>
#include <vector>

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/number_text.h"
#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/print.h"
#include "titan/text/jinja/text_operations.h"

namespace titan::text::jinja {
namespace {

constexpr const char* kNoItem = "there is no such item";
constexpr const char* kEmpty = "the sequence is empty";

bool flag(const Value& value) {
  return !value.is_missing() && value.truth();
}

std::span<const Value> walk(Context& context, const Value& value) {
  const std::span<const Value> items = context.iterate(value);
  context.count(items.size());
  return items;
}

Value keep(Context& context, const std::vector<Value>& values) {
  return make_list(context.arena, context.arena.copy(std::span<const Value>(values)));
}

Value keep_generator(Context& context, const std::vector<Value>& values) {
  return make_generator(
      context.arena, "generator", context.arena.copy(std::span<const Value>(values)));
}

// What an argument `attribute` finds in an item: "a.b.0" goes through items and
// attributes.
class AttributeGetter {
 public:
  AttributeGetter(Context& context, const Value& attribute) : context_(context) {
    if (attribute.is_integral()) {
      keys_.push_back(attribute);
      return;
    }
    if (!context.defined(attribute).is(Kind::kString)) {
      context.fail("attribute: expected a str or int, got {}", type_name(attribute));
    }
    const Value parts =
        split_text(context, attribute.string(), make_string(context.arena, "."), -1);
    for (const Value& part : parts.items()) {
      const bool number = !part.text().empty() && part.text().find_first_not_of(
                                                      "0123456789") == std::string::npos;
      const auto index = number ? parse_int(part.text(), 10) : std::nullopt;
      keys_.push_back(index ? Value(*index) : part);
    }
  }

  [[nodiscard]] Value get(Value item, const Value& otherwise) const {
    for (const Value& key : keys_) {
      item = get_subscript(context_, item, key, kNoItem);
      if (item.is_undefined() && !otherwise.is_missing()) {
        return otherwise;
      }
    }
    return item;
  }

 private:
  Context& context_;
  std::vector<Value> keys_;
};

// The items, or an attribute of each.
std::vector<Value> attributes_of(
    Context& context, std::span<const Value> items, const Value& attribute) {
  std::vector<Value> values(items.begin(), items.end());
  if (!attribute.is_missing() && !attribute.is(Kind::kNone)) {
    const AttributeGetter getter(context, attribute);
    for (Value& value : values) {
      value = getter.get(value, Value());
    }
  }
  return values;
}

// What items are compared by: an attribute, in lower case unless case matters.
std::vector<Value> sort_keys(
    Context& context,
    std::span<const Value> items,
    const Value& attribute,
    bool case_sensitive) {
  std::vector<Value> keys = attributes_of(context, items, attribute);
  for (Value& key : keys) {
    if (!case_sensitive && key.is(Kind::kString)) {
      key = with_case(context, key.string(), Case::kLower);
    }
  }
  return keys;
}

// The items in the order of their keys.
std::vector<Value> sorted(
    Context& context,
    std::span<const Value> items,
    const std::vector<Value>& keys,
    bool reverse) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    context.count(1);
    return reverse ? less(context, keys[b], keys[a]) : less(context, keys[a], keys[b]);
  });
  std::vector<Value> result;
  for (const size_t i : order) {
    result.push_back(items[i]);
  }
  return result;
}

Value length(Context& context, const Value& self, const Arguments&) {
  return Value(static_cast<int64_t>(context.length(self)));
}

Value first(Context& context, const Value& self, const Arguments&) {
  const std::span<const Value> items = walk(context, self);
  return items.empty() ? Value::undefined(kEmpty) : items.front();
}

Value last(Context& context, const Value& self, const Arguments&) {
  if (self.is(Kind::kIterator) && self.iterator().single_use) {
    context.fail("last: a {} cannot be reversed", type_name(self));
  }
  const std::span<const Value> items = walk(context, self);
  return items.empty() ? Value::undefined(kEmpty) : items.back();
}

Value list(Context& context, const Value& self, const Arguments&) {
  return make_list(context.arena, walk(context, self));
}

Value items(Context& context, const Value& self, const Arguments&) {
  if (self.is_undefined()) {
    return make_generator(context.arena, "generator", {});
  }
  if (!self.is(Kind::kDict)) {
    context.fail("items: expected a dict, got {}", type_name(self));
  }
  return make_generator(context.arena, "generator", dict_items(context, self.dict()));
}

Value reverse(Context& context, const Value& self, const Arguments&) {
  if (self.is(Kind::kString)) {
    return reverse_text(context, self.string());
  }
  const std::span<const Value> items = walk(context, self);
  return keep_generator(context, std::vector<Value>(items.rbegin(), items.rend()));
}

Value join(Context& context, const Value& self, const Arguments& arguments) {
  const std::vector<Value> values =
      attributes_of(context, walk(context, self), arguments.positional[1]);
  const size_t begin = context.text.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && !arguments.positional[0].is_missing()) {
      print(context, arguments.positional[0]);
    }
    print(context, values[i]);
  }
  return make_string(context.arena, context.text.take(begin, context.arena));
}

Value sort(Context& context, const Value& self, const Arguments& arguments) {
  const std::span<const Value> items = walk(context, self);
  const Value& attribute = arguments.positional[2];
  if (attribute.is(Kind::kString) && attribute.text().find(',') != std::string::npos) {
    context.fail("sort: more than one attribute is not supported");
  }
  const std::vector<Value> keys =
      sort_keys(context, items, attribute, flag(arguments.positional[1]));
  return keep(context, sorted(context, items, keys, flag(arguments.positional[0])));
}

Value dictsort(Context& context, const Value& self, const Arguments& arguments) {
  if (!context.defined(self).is(Kind::kDict)) {
    context.fail("dictsort: expected a dict, got {}", type_name(self));
  }
  const Value& by = arguments.positional[1];
  const bool by_value = by.is(Kind::kString) && by.text() == "value";
  if (!by.is_missing() && !by_value && !(by.is(Kind::kString) && by.text() == "key")) {
    context.fail("dictsort: by: expected \"key\" or \"value\"");
  }
  const std::span<const Value> items = dict_items(context, self.dict());
  const Value position(int64_t{by_value});
  const std::vector<Value> keys =
      sort_keys(context, items, position, flag(arguments.positional[0]));
  return keep(context, sorted(context, items, keys, flag(arguments.positional[2])));
}

Value unique(Context& context, const Value& self, const Arguments& arguments) {
  const std::span<const Value> items = walk(context, self);
  const std::vector<Value> keys =
      sort_keys(context, items, arguments.positional[1], flag(arguments.positional[0]));
  std::vector<Value> kept;
  std::vector<Value> seen;
  for (size_t i = 0; i < items.size(); ++i) {
    context.count(seen.size());
    if (std::ranges::none_of(
            seen, [&](const Value& key) { return equal(key, keys[i]); })) {
      seen.push_back(keys[i]);
      kept.push_back(items[i]);
    }
  }
  return keep_generator(context, kept);
}

template <bool kMax>
Value extreme(Context& context, const Value& self, const Arguments& arguments) {
  const std::span<const Value> items = walk(context, self);
  const std::vector<Value> keys =
      sort_keys(context, items, arguments.positional[1], flag(arguments.positional[0]));
  if (items.empty()) {
    return Value::undefined(kEmpty);
  }
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    if (kMax ? less(context, keys[best], keys[i]) : less(context, keys[i], keys[best])) {
      best = i;
    }
  }
  return items[best];
}

Value sum(Context& context, const Value& self, const Arguments& arguments) {
  const Value& start = arguments.positional[1];
  Value total = start.is_missing() ? Value(int64_t{0}) : start;
  for (const Value& value :
       attributes_of(context, walk(context, self), arguments.positional[0])) {
    total = calculate(context, Arithmetic::kAdd, total, value);
  }
  return total;
}

Value groupby(Context& context, const Value& self, const Arguments& arguments) {
  const Value& otherwise = arguments.positional[1];
  const std::span<const Value> unsorted = walk(context, self);
  const AttributeGetter getter(context, arguments.positional[0]);
  std::vector<Value> keys;
  for (const Value& item : unsorted) {
    keys.push_back(getter.get(item, otherwise));
  }
  keys = sort_keys(context, keys, Value(), flag(arguments.positional[2]));
  const std::vector<Value> items = sorted(context, unsorted, keys, false);
  std::ranges::stable_sort(
      keys, [&](const Value& a, const Value& b) { return less(context, a, b); });
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    size_t end = begin + 1;
    while (end < items.size() && equal(keys[begin], keys[end])) {
      ++end;
    }
    const std::span<Value> pair = context.arena.make_array<Value>(2);
    pair[0] = getter.get(items[begin], otherwise);
    pair[1] = keep(
        context,
        {items.begin() + static_cast<ptrdiff_t>(begin),
         items.begin() + static_cast<ptrdiff_t>(end)});
    const uint32_t nesting = make_tuple_value(context.arena, pair).list().nesting;
    groups.push_back(Value::tuple(context.arena.make<List>(pair, nesting, true)));
    begin = end;
  }
  return keep(context, groups);
}

// The arguments after the first `taken`.
Arguments rest_of(const Arguments& arguments, size_t taken) {
  return {arguments.positional.subspan(taken), arguments.keywords};
}

std::string_view name_argument(Context& context, const Value& value, const char* what) {
  if (!context.defined(value).is(Kind::kString)) {
    context.fail("expected the name of a {}, got {}", what, type_name(value));
  }
  return value.text();
}

Value map(Context& context, const Value& self, const Arguments& arguments) {
  std::vector<Value> results;
  if (!self.truth()) {  // jinja2 then looks at nothing, not even whether it can iterate
    return keep_generator(context, results);
  }
  const std::span<const Value> items = walk(context, self);
  if (const Value* const attribute = arguments.find("attribute")) {
    const Value* const otherwise = arguments.find("default");
    const size_t known = otherwise == nullptr ? 1 : 2;
    if (!arguments.positional.empty() || arguments.keywords.size() != known) {
      context.fail("map: with attribute only default is expected");
    }
    const AttributeGetter getter(context, *attribute);
    for (const Value& item : items) {
      results.push_back(getter.get(item, otherwise == nullptr ? Value() : *otherwise));
    }
    return keep_generator(context, results);
  }
  if (arguments.positional.empty()) {
    context.fail("map: expected the name of a filter, or attribute=");
  }
  const std::string_view name = name_argument(context, arguments.positional[0], "filter");
  const Builtin* const filter = find_filter(name);
  if (filter == nullptr) {
    context.fail("map: there is no filter \"{}\"", name);
  }
  for (const Value& item : items) {
    results.push_back(filter->call(context, item, rest_of(arguments, 1)));
  }
  return keep_generator(context, results);
}

// select, reject, selectattr and rejectattr.
template <bool kAttribute, bool kWanted>
Value select(Context& context, const Value& self, const Arguments& arguments) {
  if (!self.truth()) {  // as in map
    return keep_generator(context, {});
  }
  const std::span<const Value> items = walk(context, self);
  const size_t taken = kAttribute ? 1 : 0;
  if (arguments.positional.size() < taken) {
    context.fail("selectattr: expected the name of an attribute");
  }
  const std::vector<Value> tested =
      attributes_of(context, items, kAttribute ? arguments.positional[0] : Value());
  const Builtin* test = nullptr;
  if (arguments.positional.size() > taken) {
    const std::string_view name =
        name_argument(context, arguments.positional[taken], "test");
    test = find_test(name);
    if (test == nullptr) {
      context.fail("select: there is no test \"{}\"", name);
    }
  }
  std::vector<Value> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    const Value result =
        test == nullptr ? tested[i]
                        : test->call(context, tested[i], rest_of(arguments, taken + 1));
    if (result.truth() == kWanted) {
      kept.push_back(items[i]);
    }
  }
  return keep_generator(context, kept);
}

constexpr Builtin kFilters[] = {
    {.name = "count", .function = length},
    {.name = "dictsort",
     .function = dictsort,
     .parameters = {"case_sensitive", "by", "reverse"}},
    {.name = "first", .function = first},
    {.name = "groupby",
     .function = groupby,
     .parameters = {"attribute", "default", "case_sensitive"},
     .required = 1},
    {.name = "items", .function = items},
    {.name = "join", .function = join, .parameters = {"d", "attribute"}},
    {.name = "last", .function = last},
    {.name = "length", .function = length},
    {.name = "list", .function = list},
    {.name = "map", .function = map, .any_arguments = true},
    {.name = "max",
     .function = extreme<true>,
     .parameters = {"case_sensitive", "attribute"}},
    {.name = "min",
     .function = extreme<false>,
     .parameters = {"case_sensitive", "attribute"}},
    {.name = "reject", .function = select<false, false>, .any_arguments = true},
    {.name = "rejectattr", .function = select<true, false>, .any_arguments = true},
    {.name = "reverse", .function = reverse},
    {.name = "select", .function = select<false, true>, .any_arguments = true},
    {.name = "selectattr", .function = select<true, true>, .any_arguments = true},
    {.name = "sort",
     .function = sort,
     .parameters = {"reverse", "case_sensitive", "attribute"}},
    {.name = "sum", .function = sum, .parameters = {"attribute", "start"}},
    {.name = "unique", .function = unique, .parameters = {"case_sensitive", "attribute"}},
};

}  // namespace

std::span<const Builtin> sequence_filters() {
  return kFilters;
}

}  // namespace titan::text::jinja
