// value[key] and value[begin:end:step].

#include <algorithm>
#include <optional>

#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

// An index counted from the end where it is negative; nothing where it is outside.
std::optional<size_t> find_index(int64_t index, size_t size) {
  const auto n = static_cast<int64_t>(size);
  if (index < -n || index >= n) {
    return std::nullopt;
  }
  return static_cast<size_t>(index < 0 ? index + n : index);
}

int64_t bound_or(Context& context, const Value& bound, int64_t otherwise) {
  return bound.is(Kind::kNone) ? otherwise : context.to_integer(bound, "slice");
}

// The indices that a slice of `size` items takes: first, step and how many.
struct Steps {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

Steps slice_steps(Context& context, const SliceBounds& bounds, size_t size) {
  const auto n = static_cast<int64_t>(size);
  const int64_t step = bound_or(context, bounds.step, 1);
  if (step == 0) {
    context.fail("slice: the step is 0");
  }
  // Outside of it no item is taken in this direction.
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? n : n - 1;
  const auto place = [&](const Value& bound, int64_t otherwise) {
    int64_t at = bound_or(context, bound, otherwise);
    if (!bound.is(Kind::kNone) && at < 0) {
      at = at < -n ? low : at + n;
    }
    return std::clamp(at, low, high);
  };
  const int64_t begin = place(bounds.begin, step > 0 ? low : high);
  const int64_t end = place(bounds.end, step > 0 ? high : low);
  const int64_t distance = step > 0 ? end - begin : begin - end;
  if (distance <= 0) {
    return {};
  }
  // Unsigned, since the least step has no negative.
  const uint64_t width =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = (static_cast<uint64_t>(distance) - 1) / width + 1;
  return {begin, step, static_cast<int64_t>(count)};
}

Value slice_text(Context& context, const String& string, const SliceBounds& bounds) {
  const Steps steps = slice_steps(context, bounds, count_characters(string.text));
  if (steps.count == 0) {
    return make_string(context.arena, "");
  }
  if (steps.step == 1) {
    const size_t begin = character_offset(string.text, static_cast<size_t>(steps.first));
    const std::string_view rest = string.text.substr(begin);
    const size_t size = character_offset(rest, static_cast<size_t>(steps.count));
    return make_string(context.arena, string.part(begin, begin + size, context.arena));
  }
  const std::span<const Value> characters = split_characters(string, context.arena);
  context.count(characters.size());
  const size_t begin = context.text.size();
  for (int64_t i = 0; i < steps.count; ++i) {
    context.text.append(
        characters[static_cast<size_t>(steps.first + i * steps.step)].string());
  }
  return make_string(context.arena, context.text.take(begin, context.arena));
}

}  // namespace

Value get_item(
    Context& context, const Value& value, const Value& key, const char* reason) {
  if (value.is(Kind::kDict)) {
    context.count(value.dict().entries.size() / 8);
    const Value* const found = value.dict().find(key);
    return found == nullptr ? Value::undefined(reason) : *found;
  }
  if (!key.is_integral()) {
    return Value::undefined(reason);
  }
  if (value.is(Kind::kString)) {
    const String& string = value.string();
    const auto index = find_index(key.integer(), count_characters(string.text));
    if (!index) {
      return Value::undefined(reason);
    }
    const size_t begin = character_offset(string.text, *index);
    const size_t end = begin + character_at(string.text, begin).size;
    return make_string(context.arena, string.part(begin, end, context.arena));
  }
  if (value.is_sequence() ||
      (value.is(Kind::kIterator) && value.iterator().type == "range")) {
    const std::span<const Value> items =
        value.is_sequence() ? value.items() : value.iterator().items;
    const auto index = find_index(key.integer(), items.size());
    return index ? items[*index] : Value::undefined(reason);
  }
  return Value::undefined(reason);
}

Value get_slice(Context& context, const Value& value, const SliceBounds& bounds) {
  if (value.is(Kind::kString)) {
    return slice_text(context, value.string(), bounds);
  }
  if (!context.defined(value).is_sequence()) {
    context.fail("a {} cannot be sliced", type_name(value));
  }
  const Steps steps = slice_steps(context, bounds, value.items().size());
  context.count(static_cast<uint64_t>(steps.count) / 8);
  std::span<const Value> items;
  if (steps.step == 1) {
    items = value.items().subspan(
        static_cast<size_t>(steps.first), static_cast<size_t>(steps.count));
  } else {
    const std::span<Value> taken =
        context.arena.make_array<Value>(static_cast<size_t>(steps.count));
    for (int64_t i = 0; i < steps.count; ++i) {
      taken[static_cast<size_t>(i)] =
          value.items()[static_cast<size_t>(steps.first + i * steps.step)];
    }
    items = taken;
  }
  return value.is(Kind::kList) ? make_list(context.arena, items)
                               : make_tuple_value(context.arena, items);
}

}  // namespace titan::text::jinja
