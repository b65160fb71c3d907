#pragma once
// Values as text: Python's str() and repr(), and JSON as transformers' tojson writes it.

#include <optional>
#include <string>

#include "titan/text/jinja/context.h"

namespace titan::text::jinja {

// Appends str(value) to context.text. An error where Python would print an address or a
// generator.
void print(Context& context, const Value& value);

// Appends repr(value) in the same way.
void print_repr(Context& context, const Value& value);

struct JsonStyle {
  bool ascii = false;                 // \u escapes for what is not ASCII
  std::optional<std::string> indent;  // of one level; none: all in one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// json.dumps(value). An error for what is not JSON.
[[nodiscard]] Value to_json(Context& context, const Value& value, const JsonStyle& style);

}  // namespace titan::text::jinja
