#pragma once
// "Did you mean": the known name closest to what was typed.

#include <span>
#include <string>
#include <string_view>

namespace titan {

// Levenshtein distance: insertions, deletions and substitutions of bytes.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

// The name in `known` with the least distance to `name` (the first of equals); empty when
// `known` is empty.
[[nodiscard]] std::string nearest_name(
    std::string_view name, std::span<const std::string> known);

// True where `pattern` matches the whole of `text`: `*` any run of characters, `?` one.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace titan
