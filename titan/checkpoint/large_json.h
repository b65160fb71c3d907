#pragma once
// JSON files with very many members (an index of 100,000 tensors): members are kept
// sorted by name, so a look-up does not walk the whole object as it does in Json.

#include <string>

#include <nlohmann/json.hpp>

#include "titan/base/files.h"

namespace titan::checkpoint {

using LargeJson = nlohmann::json;

// Throws InputError where the file cannot be read, FormatError where it is not JSON or a
// member occurs twice in one object.
[[nodiscard]] LargeJson read_large_json(const fs::path& path);

}  // namespace titan::checkpoint
