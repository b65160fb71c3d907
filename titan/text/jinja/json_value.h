#pragma once
// JSON as values of templates.

#include <string_view>

#include "titan/base/json.h"
#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

// All strings, keys too, get `mark`; they are not copied, so `json` must outlive the use
// of the arena. InputError names `what` where a string is not UTF-8, an integer is beyond
// 64 bits or the nesting is too deep.
[[nodiscard]] Value to_value(
    const Json& json, Mark mark, Arena& arena, std::string_view what);

// The same, with the strings copied into the arena.
[[nodiscard]] Value to_value_copying(
    const Json& json, Mark mark, Arena& arena, std::string_view what);

}  // namespace titan::text::jinja
