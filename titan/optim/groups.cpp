#include "titan/optim/groups.h"

#include <algorithm>

#include "titan/base/error.h"
#include "titan/base/nearest.h"

namespace titan::optim {

GroupSettings settings_of(
    const std::vector<GroupConfig>& groups,
    double weight_decay,
    const std::string& name) {
  for (const GroupConfig& group : groups) {
    if (glob_match(group.pattern, name)) {
      return {group.lr_scale, group.weight_decay.value_or(weight_decay)};
    }
  }
  return {1, weight_decay};
}

void refuse_idle_patterns(
    const std::vector<std::string>& patterns,
    const std::vector<std::string>& names,
    std::string_view field) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    const bool matched =
        std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return glob_match(patterns[i], name);
        });
    if (!matched) {
      fail<ConfigError>(
          "{}: \"{}\" matches no parameter{}",
          fmt::format(fmt::runtime(field), i),
          patterns[i],
          names.empty() ? "" : ", e.g. " + names.front());
    }
  }
}

std::vector<std::string> patterns_of(const std::vector<GroupConfig>& groups) {
  std::vector<std::string> patterns;
  for (const GroupConfig& group : groups) {
    patterns.push_back(group.pattern);
  }
  return patterns;
}

}  // namespace titan::optim
