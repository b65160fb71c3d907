#include "titan/config/fields.h"

namespace titan::config {

std::string join_path(std::string_view prefix, std::string_view name) {
  std::string path(prefix);
  if (!path.empty()) {
    path += '.';
  }
  return path.append(name);
}

}  // namespace titan::config
