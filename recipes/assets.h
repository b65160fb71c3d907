#pragma once

#include <string>

namespace titan::recipes {

// A file that comes with titan, e.g. asset("corpus/train.jsonl"): below the folder named
// by the environment variable TITAN_ASSETS, else below data/ of the source tree that
// built the binary.
[[nodiscard]] std::string asset(const std::string& name);

}  // namespace titan::recipes
