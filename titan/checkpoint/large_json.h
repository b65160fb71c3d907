#pragma once
// JSON with very many members (an index of 100,000 tensors): members are kept sorted by
// name, so a look-up does not walk the whole object as it does in Json.

#include "titan/base/files.h"
#include "titan/base/json.h"

namespace titan::checkpoint {

using LargeJson = nlohmann::json;

// Reads a file with the checks and errors of read_json_file.
[[nodiscard]] inline LargeJson read_large_json(const fs::path& path) {
  return read_json_file(path);
}

}  // namespace titan::checkpoint
