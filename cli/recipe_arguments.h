#pragma once

#include <string>
#include <vector>

#include "titan/train/config.h"

namespace CLI {
class App;
}

namespace titan::cli {

// RECIPE [path=value ...] [--config FILE], as several subcommands take them.
struct RecipeArguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::vector<std::string> files;

  void add_to(CLI::App& command);
  // The recipe's config with the files' settings and then the overrides applied;
  // ConfigError lists every problem. The default run folder is outputs/RECIPE.
  [[nodiscard]] train::TrainConfig resolve() const;
  // The arguments as the user would type them again.
  [[nodiscard]] std::string text() const;
};

}  // namespace titan::cli
