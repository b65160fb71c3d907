#include "titan/text/jinja/context.h"

#include <algorithm>

#include "titan/text/jinja/print.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {

void Expression::print(Context& context) const {
  const Value value = evaluate(context);
  context.position = position();
  jinja::print(context, value);
}

Flow Context::run(const Body& body) {
  for (const auto& statement : body) {
    enter();
    const Flow flow = statement->run(*this);
    leave();
    if (flow != Flow::kNext) {
      return flow;
    }
  }
  return Flow::kNext;
}

Value Context::capture(const Body& body) {
  const size_t begin = text.size();
  run(body);
  return make_string(arena, text.take(begin, arena));
}

void Context::fail_with(const std::string& message) const {
  titan::fail<InputError>(
      "{}:{}:{}: {}", template_name, position.line, position.column, message);
}

std::span<const Value> Context::iterate(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return {};
    case Kind::kList:
    case Kind::kTuple:
      return value.items();
    case Kind::kIterator:
      return value.iterator().take();
    case Kind::kString:
      return split_characters(value.string(), arena);
    case Kind::kDict: {
      const std::span<const Dict::Entry> entries = value.dict().entries;
      const std::span<Value> keys = arena.make_array<Value>(entries.size());
      std::transform(
          entries.begin(), entries.end(), keys.begin(), [](const Dict::Entry& entry) {
            return entry.key;
          });
      return keys;
    }
    default:
      fail("a {} cannot be iterated over", type_name(value));
  }
}

size_t Context::length(const Value& value) const {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return count_characters(value.text());
    case Kind::kList:
    case Kind::kTuple:
      return value.items().size();
    case Kind::kDict:
      return value.dict().entries.size();
    case Kind::kIterator:
      if (!value.iterator().single_use) {
        return value.iterator().items.size();
      }
      [[fallthrough]];
    default:
      fail("a {} has no length", type_name(value));
  }
}

const String& Context::to_string(const Value& value) {
  if (value.is(Kind::kString)) {
    return value.string();
  }
  const size_t begin = text.size();
  jinja::print(*this, value);
  return *arena.make<String>(text.take(begin, arena));
}

int64_t Context::to_integer(const Value& value, const char* what) const {
  if (!defined(value).is_integral()) {
    fail("{}: expected an int, got a {}", what, type_name(value));
  }
  return value.integer();
}

}  // namespace titan::text::jinja
