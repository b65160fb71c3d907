#pragma once
// Settings as text for the terminal.

#include <span>
#include <string>

#include "titan/base/json.h"
#include "titan/config/dump.h"
#include "titan/config/fields.h"

namespace titan::config {

// One line a setting: path, value, help. A value that differs from the one in the dump
// `defaults` (or has none there) is marked with `*`.
[[nodiscard]] std::string format_values(
    std::span<const Field> fields, const Json& defaults);

// One line a setting: path, type, value, help.
[[nodiscard]] std::string format_help(std::span<const Field> fields);

// The resolved config beside what its recipe says.
template <class C>
[[nodiscard]] std::string values_table(const C& config, const C& recipe) {
  return format_values(list_fields(config), dump(recipe));
}

// The settings of `config` with its values as the defaults.
template <class C>
[[nodiscard]] std::string help_table(const C& config) {
  return format_help(list_fields(config));
}

}  // namespace titan::config
