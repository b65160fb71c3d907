#pragma once
// The state of one rendering.

#include <cstdint>
#include <ctime>
#include <span>
#include <string>

#include "titan/base/error.h"
#include "titan/text/jinja/arena.h"
#include "titan/text/jinja/marked_text.h"
#include "titan/text/jinja/node.h"
#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

// Where a hostile or broken template is stopped.
struct Limits {
  uint64_t steps = 20'000'000;         // nodes evaluated, items handled by builtins
  uint32_t depth = 1000;               // nodes being evaluated within each other
  size_t text = size_t{256} << 20;     // bytes of output and text under construction
  size_t memory = size_t{1024} << 20;  // bytes of values
};

// The variables of one activation: of the template, or of one call of a macro.
struct Frame {
  std::span<Value> slots;
  Frame* parent = nullptr;  // of where the macro was defined
};

struct Context {
  const std::string& template_name;
  const Limits& limits;
  Arena& arena;
  TextBuilder& text;
  std::span<const Value> globals;  // by the template's numbering of its free names
  std::time_t time = 0;            // what strftime_now() shows

  Frame* frame = nullptr;
  Position position;  // of what is being evaluated, for errors
  uint64_t steps = 0;
  uint32_t depth = 0;
  uint32_t num_generations = 0;  // {% generation %} blocks so far

  // Counts work; LimitReached where it is too much.
  void count(uint64_t work) {
    steps += work;
    if (steps > limits.steps) {
      throw LimitReached{"number of steps"};
    }
  }

  void enter() {
    count(1);
    if (++depth > limits.depth) {
      throw LimitReached{"depth of nested evaluation"};
    }
  }

  // An error ends the rendering, so `depth` need not be right after one.
  void leave() { --depth; }

  [[nodiscard]] Value evaluate(const Expression& expression) {
    enter();
    const Value value = expression.evaluate(*this);
    leave();
    return value;
  }

  void print(const Expression& expression) {
    enter();
    expression.print(*this);
    leave();
  }

  Flow run(const Body& body);

  // What `body` prints, instead of printing it.
  [[nodiscard]] Value capture(const Body& body);

  // An InputError with the template's name and the position.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void fail_with(const std::string& message) const;

  // The value; an error where it is undefined.
  const Value& defined(const Value& value) const {
    if (value.is_undefined()) {
      fail_with(value.reason());
    }
    return value;
  }

  // What Python's iter() walks over: items, characters, keys. An error where the value is
  // no iterable.
  [[nodiscard]] std::span<const Value> iterate(const Value& value);

  // Python's len(). An error where there is none.
  [[nodiscard]] size_t length(const Value& value) const;

  // The text of a str, or what str() gives.
  [[nodiscard]] const String& to_string(const Value& value);

  // An int argument. An error names `what`.
  [[nodiscard]] int64_t to_integer(const Value& value, const char* what) const;
};

}  // namespace titan::text::jinja
