#pragma once
// Reading JSON with very many members in one object.

#include <filesystem>

#include "titan/base/json.h"

namespace titan::text {

// What read_json_file gives, with the same errors, in linear time: a Json object finds a
// member by a search from the first one, which a vocabulary of 100,000 tokens turns into
// minutes.
[[nodiscard]] Json read_large_json_file(const std::filesystem::path& path);

}  // namespace titan::text
