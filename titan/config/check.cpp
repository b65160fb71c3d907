#include "titan/config/check.h"

namespace titan::config {

void Problems::add(std::string_view name, std::string_view message) {
  const std::string path = name.empty() ? path_ : join_path(path_, name);
  lines_.push_back(
      path.empty() ? std::string(message) : fmt::format("{}: {}", path, message));
}

void fail_if_any(const std::vector<std::string>& lines) {
  if (!lines.empty()) {
    fail<ConfigError>("{}", fmt::join(lines, "\n"));
  }
}

}  // namespace titan::config
