#pragma once
// Settings from a file: TOML (nested tables are dotted paths) or JSON by the file's name.

#include <vector>

#include "titan/base/files.h"
#include "titan/config/assign.h"

namespace titan::config {

// The settings in `path` (.toml or .json) in their order there, each with its place for
// errors: "run.toml:3", or the file alone for JSON. Throws InputError when the file
// cannot be read or has another extension, FormatError when its syntax is wrong.
[[nodiscard]] std::vector<Assignment> read_config_file(const fs::path& path);

}  // namespace titan::config
