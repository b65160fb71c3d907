// The global functions.

#include <array>
#include <ctime>
#include <vector>

#include "titan/text/jinja/callable.h"
#include "titan/text/jinja/print.h"

namespace titan::text::jinja {
namespace {

// Of jinja2's sandbox.
constexpr uint64_t kMaxRange = 100'000;

Value range(Context& context, const Value&, const Arguments& arguments) {
  const std::span<const Value> given = arguments.positional;
  const auto argument = [&](size_t i) { return context.to_integer(given[i], "range"); };
  const bool only_stop = given[1].is_missing();
  const int64_t start = only_stop ? 0 : argument(0);
  const int64_t stop = argument(only_stop ? 0 : 1);
  const int64_t step = given[2].is_missing() ? 1 : argument(2);
  if (step == 0) {
    context.fail("range: the step is 0");
  }
  // In unsigned arithmetic no difference of two ints overflows.
  const auto distance = [](int64_t low, int64_t high) {
    return low < high ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 0;
  };
  const uint64_t width =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t span = step > 0 ? distance(start, stop) : distance(stop, start);
  const uint64_t count = span / width + (span % width != 0 ? 1 : 0);
  if (count > kMaxRange) {
    context.fail("range: {} items, at most {}", count, kMaxRange);
  }
  context.count(count);
  const std::span<Value> items = context.arena.make_array<Value>(count);
  for (uint64_t i = 0; i < count; ++i) {
    items[i] = Value(start + static_cast<int64_t>(i) * step);
  }
  return make_view(context.arena, "range", items);
}

// dict(a_dict, name=value, ...): the entries of both.
std::vector<Dict::Entry> read_entries(
    Context& context, const char* what, const Arguments& arguments) {
  std::vector<Dict::Entry> entries;
  if (arguments.positional.size() > 1) {
    context.fail("{}: expected one dict and keyword arguments", what);
  }
  for (const Value& source : arguments.positional) {
    if (!context.defined(source).is(Kind::kDict)) {
      context.fail("{}: expected a dict, got {}", what, type_name(source));
    }
    entries.assign(source.dict().entries.begin(), source.dict().entries.end());
  }
  for (const Keyword& keyword : arguments.keywords) {
    const auto found = std::ranges::find_if(entries, [&](const Dict::Entry& entry) {
      return entry.key.is(Kind::kString) && entry.key.text() == keyword.name;
    });
    if (found != entries.end()) {
      found->value = keyword.value;
    } else {
      entries.push_back({make_string(context.arena, keyword.name), keyword.value});
    }
  }
  context.count(entries.size());
  return entries;
}

Value dict(Context& context, const Value&, const Arguments& arguments) {
  const std::vector<Dict::Entry> entries = read_entries(context, "dict", arguments);
  return make_dict(
      context.arena, context.arena.copy(std::span<const Dict::Entry>(entries)));
}

Value name_space(Context& context, const Value&, const Arguments& arguments) {
  auto* const result = context.arena.make<Namespace>();
  const std::vector<Dict::Entry> entries = read_entries(context, "namespace", arguments);
  for (const Dict::Entry& entry : entries) {
    context.count(entries.size() / 8);
    if (!entry.key.is(Kind::kString)) {
      context.fail("namespace: a name must be a str, got {}", type_name(entry.key));
    }
    set_in_namespace(context, *result, entry.key.text(), entry.value);
  }
  return Value(result);
}

Value raise_exception(Context& context, const Value&, const Arguments& arguments) {
  context.fail(
      "the template refuses: {}", context.to_string(arguments.positional[0]).text);
}

Value strftime_now(Context& context, const Value&, const Arguments& arguments) {
  const std::string format(context.to_string(arguments.positional[0]).text);
  if (format.size() > 1000) {
    context.fail("strftime_now: the format is too long");
  }
  std::tm local{};
  localtime_r(&context.time, &local);
  std::array<char, 8192> buffer{};
  const size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  return make_string(
      context.arena, context.arena.copy(std::string_view(buffer.data(), size)));
}

constexpr Builtin kFunctions[] = {
    {.name = "dict", .function = dict, .any_arguments = true},
    {.name = "namespace", .function = name_space, .any_arguments = true},
    {.name = "raise_exception",
     .function = raise_exception,
     .parameters = {"message"},
     .required = 1},
    {.name = "range",
     .function = range,
     .parameters = {"start", "stop", "step"},
     .required = 1},
    {.name = "strftime_now",
     .function = strftime_now,
     .parameters = {"format"},
     .required = 1},
};

}  // namespace

void set_in_namespace(
    Context& context, Namespace& target, std::string_view name, const Value& value) {
  if (name.starts_with('_')) {
    context.fail(
        "a namespace cannot hold \"{}\": names with an underscore are refused", name);
  }
  if (Namespace::Entry* const entry = target.find(name)) {
    entry->value = value;
    return;
  }
  target.first = context.arena.make<Namespace::Entry>(name, value, target.first);
}

std::span<const Builtin> functions() {
  return kFunctions;
}

}  // namespace titan::text::jinja
