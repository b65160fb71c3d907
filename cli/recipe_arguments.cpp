#include "cli/recipe_arguments.h"

#include <CLI/CLI.hpp>

#include "titan/config/config_file.h"
#include "titan/config/recipe.h"

namespace titan::cli {

void RecipeArguments::add_to(CLI::App& command) {
  command.add_option("RECIPE", recipe, "name of a recipe (titan recipes)")->required();
  command.add_option("OVERRIDES", overrides, "settings as path=value");
  command.add_option("--config", files, "TOML or JSON files with settings")
      ->allow_extra_args(false);
}

train::TrainConfig RecipeArguments::resolve() const {
  train::TrainConfig config = config::recipes<train::TrainConfig>().at(recipe).make();
  if (config.run.folder.empty()) {
    config.run.folder = "outputs/" + recipe;
  }
  std::vector<config::Assignment> assignments;
  for (const std::string& file : files) {
    const auto more = config::read_config_file(file);
    assignments.insert(assignments.end(), more.begin(), more.end());
  }
  const auto typed = config::parse_overrides(overrides);
  assignments.insert(assignments.end(), typed.begin(), typed.end());
  config::configure(config, assignments);
  return config;
}

std::string RecipeArguments::text() const {
  std::string text = recipe;
  for (const std::string& file : files) {
    text += " --config " + file;
  }
  for (const std::string& override_text : overrides) {
    const bool quote =
        override_text.find_first_of(" *?[]{}\"'$&;|<>()") != std::string::npos;
    text += quote ? " '" + override_text + "'" : " " + override_text;
  }
  return text;
}

}  // namespace titan::cli
