#pragma once
// The values of templates, which are those of Python: None, bool, int (64 bits), float,
// str, list, tuple, dict, iterators, and what templates call.

#include <cstdint>
#include <span>
#include <string_view>

#include "titan/text/jinja/arena.h"
#include "titan/text/jinja/marked_text.h"

namespace titan::text::jinja {

class Callable;
class LoopState;
struct Dict;
struct Iterator;
struct Namespace;

enum class Kind : uint8_t {
  kMissing,  // no value: a variable that is not set, an argument that is not given
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kIterator,
  kDict,
  kNamespace,
  kLoop,
  kCallable
};

struct List;

// A small handle, copied freely; what it points to is owned by an arena and, but for
// iterators, namespaces and loops, never changes.
class Value {
 public:
  // Missing; templates never see it.
  Value() : Value(Kind::kMissing, int64_t{0}) {}

  // `reason` is the error of its use, and must outlive it.
  [[nodiscard]] static Value undefined(const char* reason) {
    return {Kind::kUndefined, reason};
  }

  [[nodiscard]] static Value none() { return {Kind::kNone, int64_t{0}}; }

  [[nodiscard]] static Value tuple(const List* list) { return {Kind::kTuple, list}; }

  explicit Value(bool value) : Value(Kind::kBool, int64_t{value}) {}

  explicit Value(int64_t value) : Value(Kind::kInt, value) {}

  explicit Value(double value) : kind_(Kind::kFloat) { content_.number = value; }

  explicit Value(const String* value) : Value(Kind::kString, value) {}

  explicit Value(const List* value) : Value(Kind::kList, value) {}

  explicit Value(const Dict* value) : Value(Kind::kDict, value) {}

  explicit Value(Iterator* value) : Value(Kind::kIterator, value) {}

  explicit Value(Namespace* value) : Value(Kind::kNamespace, value) {}

  explicit Value(LoopState* value) : Value(Kind::kLoop, value) {}

  explicit Value(const Callable* value) : Value(Kind::kCallable, value) {}

  [[nodiscard]] Kind kind() const { return kind_; }

  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }

  [[nodiscard]] bool is_missing() const { return kind_ == Kind::kMissing; }

  [[nodiscard]] bool is_undefined() const { return kind_ == Kind::kUndefined; }

  // bool counts as a number, as in Python.
  [[nodiscard]] bool is_integral() const {
    return kind_ == Kind::kInt || kind_ == Kind::kBool;
  }

  [[nodiscard]] bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }

  [[nodiscard]] bool is_sequence() const {
    return kind_ == Kind::kList || kind_ == Kind::kTuple;
  }

  // REQUIRES for each of these: the kind.
  [[nodiscard]] const char* reason() const {
    return static_cast<const char*>(content_.object);
  }

  [[nodiscard]] bool boolean() const { return content_.integer != 0; }

  [[nodiscard]] int64_t integer() const { return content_.integer; }  // of a bool too

  [[nodiscard]] double number() const {  // of any number
    return kind_ == Kind::kFloat ? content_.number
                                 : static_cast<double>(content_.integer);
  }

  [[nodiscard]] const String& string() const { return *as<String>(); }

  [[nodiscard]] std::string_view text() const { return string().text; }

  [[nodiscard]] const List& list() const;  // of a list or tuple

  [[nodiscard]] std::span<const Value> items() const;  // of a list or tuple

  [[nodiscard]] const Dict& dict() const { return *as<Dict>(); }

  [[nodiscard]] Iterator& iterator() const { return *as<Iterator>(); }

  [[nodiscard]] Namespace& name_space() const { return *as<Namespace>(); }

  [[nodiscard]] LoopState& loop() const { return *as<LoopState>(); }

  [[nodiscard]] const Callable& callable() const { return *as<Callable>(); }

  // Python's `is`: one object, or equal None, bool or int.
  [[nodiscard]] bool same(const Value& other) const;

  // Python's bool(). An undefined value is false.
  [[nodiscard]] bool truth() const;

 private:
  Value(Kind kind, const void* object) : kind_(kind) { content_.object = object; }

  Value(Kind kind, int64_t integer) : kind_(kind) { content_.integer = integer; }

  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(const_cast<void*>(content_.object));
  }

  Kind kind_;

  union {
    int64_t integer;
    double number;
    const void* object;
  } content_;
};

// Lists and dicts within each other, at most kMaxNesting levels: what walks them
// recurses.
struct List {
  std::span<const Value> items;
  uint32_t nesting = 1;
  bool is_group = false;  // of groupby: a tuple with the names "grouper" and "list"
};

// In order of insertion; keys differ.
struct Dict {
  struct Entry {
    Value key;
    Value value;
  };

  std::span<const Entry> entries;
  uint32_t nesting = 1;

  // Null where there is none.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Value* find(const Value& key) const;
};

// What Python makes of range(), dict.items() or a filter that gives a generator: a
// sequence that is not a list. It cannot be printed.
struct Iterator {
  std::string_view type;  // Python's name
  std::span<const Value> items;
  bool single_use = true;  // a generator: nothing is left after the first walk; no length
  bool spent = false;

  // The items for one walk.
  [[nodiscard]] std::span<const Value> take() {
    const std::span<const Value> left = spent ? std::span<const Value>() : items;
    spent = single_use;
    return left;
  }
};

// namespace(): the one object that templates can change.
struct Namespace {
  struct Entry {
    std::string_view name;
    Value value;
    Entry* next;
  };

  Entry* first = nullptr;

  [[nodiscard]] Entry* find(std::string_view name) const;
};

// Python's name of the type: "str", "dict", ...
[[nodiscard]] std::string_view type_name(const Value& value);

// Python's ==; values of unlike kinds are unequal.
[[nodiscard]] bool equal(const Value& a, const Value& b);

[[nodiscard]] inline Value make_string(Arena& arena, const String& string) {
  return Value(arena.make<String>(string));
}

// A string that the template made; the text is not copied.
[[nodiscard]] inline Value make_string(Arena& arena, std::string_view text) {
  return Value(arena.make<String>(text, Mark{}, std::span<const Run>()));
}

inline constexpr uint32_t kMaxNesting = 200;

// LimitReached where they would be nested too deep.
[[nodiscard]] Value make_list(Arena& arena, std::span<const Value> items);
[[nodiscard]] Value make_tuple_value(Arena& arena, std::span<const Value> items);
// REQUIRES: the keys differ.
[[nodiscard]] Value make_dict(Arena& arena, std::span<const Dict::Entry> entries);

[[nodiscard]] inline Value make_generator(
    Arena& arena, std::string_view type, std::span<const Value> items) {
  return Value(arena.make<Iterator>(type, items, true, false));
}

// items(), keys(), values() and range(): can be walked again and have a length.
[[nodiscard]] inline Value make_view(
    Arena& arena, std::string_view type, std::span<const Value> items) {
  return Value(arena.make<Iterator>(type, items, false, false));
}

}  // namespace titan::text::jinja
