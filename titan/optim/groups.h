#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "titan/parallel/parameter_store.h"

namespace titan::optim {

// Settings of the parameters whose name matches a glob.
struct GroupConfig {
  std::string pattern = "*";
  double lr_scale = 1;
  std::optional<double> weight_decay;  // null = the optimizer's

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("pattern", self.pattern, "glob over parameter names");
    visit("lr_scale", self.lr_scale, "factor on the learning rate");
    visit("weight_decay", self.weight_decay, "null = the optimizer's weight_decay");
  }
};

// What one parameter is updated with.
struct GroupSettings {
  double lr_scale;
  double weight_decay;
};

// The settings of the first group that matches `name`, else factor 1 and `weight_decay`.
[[nodiscard]] GroupSettings settings_of(
    const std::vector<GroupConfig>& groups, double weight_decay, const std::string& name);

// ConfigError when a pattern matches none of the parameters' names. `field` is the path
// of the patterns, "{}" in it the index of one.
void refuse_idle_patterns(
    const std::vector<std::string>& patterns,
    const std::vector<std::string>& names,
    std::string_view field);

[[nodiscard]] std::vector<std::string> patterns_of(
    const std::vector<GroupConfig>& groups);

}  // namespace titan::optim
