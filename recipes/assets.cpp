#include "recipes/assets.h"

#include <cstdlib>

namespace titan::recipes {

std::string asset(const std::string& name) {
  const char* folder = std::getenv("TITAN_ASSETS");
  return std::string(folder == nullptr ? TITAN_DEFAULT_ASSETS : folder) + "/" + name;
}

}  // namespace titan::recipes
