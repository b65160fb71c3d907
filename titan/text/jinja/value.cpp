#include "titan/text/jinja/value.h"

#include <algorithm>

namespace titan::text::jinja {
namespace {

bool equal_items(std::span<const Value> a, std::span<const Value> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) {
    return false;
  }
  return std::ranges::all_of(a.entries, [&](const Dict::Entry& entry) {
    const Value* const other = b.find(entry.key);
    return other != nullptr && equal(entry.value, *other);
  });
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) {
    return a.integer() == b.integer();
  }
  return a.number() == b.number();
}

uint32_t nesting(const Value& value) {
  if (value.is_sequence()) {
    return value.list().nesting;
  }
  return value.is(Kind::kDict) ? value.dict().nesting : 0;
}

uint32_t check_nesting(uint32_t inner) {
  if (inner >= kMaxNesting) {
    throw LimitReached{"nesting of values"};
  }
  return inner + 1;
}

uint32_t nesting_of(std::span<const Value> items) {
  uint32_t inner = 0;
  for (const Value& item : items) {
    inner = std::max(inner, nesting(item));
  }
  return check_nesting(inner);
}

}  // namespace

const List& Value::list() const {
  return *as<List>();
}

std::span<const Value> Value::items() const {
  return list().items;
}

bool Value::same(const Value& other) const {
  return kind_ == other.kind_ && (kind_ == Kind::kNone || kind_ == Kind::kUndefined ||
                                  content_.integer == other.content_.integer);
}

bool Value::truth() const {
  switch (kind_) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return content_.integer != 0;
    case Kind::kFloat:
      return content_.number != 0;
    case Kind::kString:
      return !text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !items().empty();
    case Kind::kDict:
      return !dict().entries.empty();
    case Kind::kIterator:
      return iterator().single_use || !iterator().items.empty();
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kCallable:
      break;
  }
  return true;
}

const Value* Dict::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key.is(Kind::kString) && entry.key.text() == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

const Value* Dict::find(const Value& key) const {
  if (key.is(Kind::kString)) {
    return find(key.text());
  }
  for (const Entry& entry : entries) {
    if (equal(entry.key, key)) {
      return &entry.value;
    }
  }
  return nullptr;
}

Namespace::Entry* Namespace::find(std::string_view name) const {
  Entry* entry = first;
  while (entry != nullptr && entry->name != name) {
    entry = entry->next;
  }
  return entry;
}

Value make_list(Arena& arena, std::span<const Value> items) {
  return Value(arena.make<List>(items, nesting_of(items)));
}

Value make_tuple_value(Arena& arena, std::span<const Value> items) {
  return Value::tuple(arena.make<List>(items, nesting_of(items)));
}

Value make_dict(Arena& arena, std::span<const Dict::Entry> entries) {
  uint32_t inner = 0;
  for (const Dict::Entry& entry : entries) {
    inner = std::max({inner, nesting(entry.key), nesting(entry.value)});
  }
  return Value(arena.make<Dict>(entries, check_nesting(inner)));
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kIterator:
      return value.iterator().type;
    case Kind::kNamespace:
      return "namespace";
    case Kind::kLoop:
      return "loop";
    case Kind::kCallable:
      break;
  }
  return "function";
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return equal_numbers(a, b);
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Kind::kString:
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return equal_items(a.items(), b.items());
    case Kind::kDict:
      return equal_dicts(a.dict(), b.dict());
    default:
      return a.same(b);
  }
}

}  // namespace titan::text::jinja
