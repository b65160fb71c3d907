#pragma once
// What templates can call: filters, tests, methods, functions and macros.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "titan/text/jinja/context.h"

namespace titan::text::jinja {

struct Keyword {
  std::string_view name;
  Value value;
};

struct Arguments {
  std::span<const Value> positional;
  std::span<const Keyword> keywords;

  // The keyword argument, or null.
  [[nodiscard]] const Value* find(std::string_view name) const;
};

// A function value. Owned by an arena, so never deleted through this type.
class Callable {
 public:
  [[nodiscard]] virtual Value call(
      Context& context, const Arguments& arguments) const = 0;

 protected:
  ~Callable() = default;
};

// A filter, test, method or global function, as an entry of a table.
struct Builtin {
  static constexpr size_t kMaxParameters = 5;

  // `self` is what is filtered, tested or the owner of the method; missing for a
  // function. With parameter names: `arguments` has one positional value for each of
  // them, missing where it was not given, and no keywords. Without: as the call has them.
  using Function =
      Value (*)(Context& context, const Value& self, const Arguments& arguments);

  std::string_view name;
  Function function = nullptr;
  std::array<std::string_view, kMaxParameters> parameters = {};
  size_t required = 0;  // of the parameters, the first ones
  bool any_arguments = false;

  [[nodiscard]] size_t num_parameters() const {
    return static_cast<size_t>(
        std::ranges::find(parameters, std::string_view()) - parameters.begin());
  }

  // Binds the arguments to the parameters and calls. An error names what does not fit.
  [[nodiscard]] Value call(
      Context& context, const Value& self, const Arguments& arguments) const;
};

// Null where there is none.
[[nodiscard]] const Builtin* find_filter(std::string_view name);
[[nodiscard]] const Builtin* find_test(std::string_view name);
// The method of a value of that kind.
[[nodiscard]] const Builtin* find_method(Kind kind, std::string_view name);
// range(), namespace(), dict(), raise_exception(), strftime_now().
[[nodiscard]] const Builtin* find_function(std::string_view name);

// A method taken from a value, or a function.
class BoundBuiltin final : public Callable {
 public:
  BoundBuiltin(const Builtin* builtin, const Value& self)
      : builtin_(builtin), self_(self) {}

  [[nodiscard]] Value call(Context& context, const Arguments& arguments) const override {
    return builtin_->call(context, self_, arguments);
  }

 private:
  const Builtin* builtin_;
  Value self_;
};

// value.name: a method, else an item of a dict, else undefined with `reason`. Errors:
// the value is undefined, or the name starts with an underscore and is no item.
[[nodiscard]] Value get_attribute(
    Context& context, const Value& value, std::string_view name, const char* reason);

// value[key]: an item, else a method, else undefined with `reason`.
[[nodiscard]] Value get_subscript(
    Context& context, const Value& value, const Value& key, const char* reason);

// An error where the name starts with an underscore, as in transformers.
void set_in_namespace(
    Context& context, Namespace& target, std::string_view name, const Value& value);

// The entries of a dict as tuples.
[[nodiscard]] std::span<const Value> dict_items(Context& context, const Dict& dict);

// The tables, each in a file of its own.
[[nodiscard]] std::span<const Builtin> text_filters();
[[nodiscard]] std::span<const Builtin> sequence_filters();
[[nodiscard]] std::span<const Builtin> value_filters();
[[nodiscard]] std::span<const Builtin> value_tests();
[[nodiscard]] std::span<const Builtin> string_methods();
[[nodiscard]] std::span<const Builtin> dict_methods();
[[nodiscard]] std::span<const Builtin> list_methods();
[[nodiscard]] std::span<const Builtin> loop_methods();
[[nodiscard]] std::span<const Builtin> functions();

}  // namespace titan::text::jinja
