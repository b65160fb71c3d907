#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/config/dump.h"
#include "titan/config/recipe.h"
#include "titan/config/table.h"

namespace titan::cli {
namespace {

struct ConfigArguments {
  RecipeArguments recipe;
  std::string other;
  bool json = false;
  bool types = false;
};

void print_difference(const train::TrainConfig& config, const std::string& other) {
  const auto theirs = config::recipes<train::TrainConfig>().at(other).make();
  for (const auto& difference :
       config::diff(config::dump(theirs), config::dump(config))) {
    fmt::print("{}\n", config::describe(difference));
  }
}

void print_config(const ConfigArguments& arguments) {
  const train::TrainConfig config = arguments.recipe.resolve();
  if (!arguments.other.empty()) {
    print_difference(config, arguments.other);
  } else if (arguments.json) {
    fmt::print("{}\n", config::dump(config).dump(2));
  } else if (arguments.types) {
    fmt::print("{}", config::help_table(config));
  } else {
    const auto original =
        config::recipes<train::TrainConfig>().at(arguments.recipe.recipe).make();
    fmt::print("{}", config::values_table(config, original));
    fmt::print("hash {}\n", config::hash(config::dump(config)));
  }
}

}  // namespace

void add_config(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("config", "print the resolved config of a recipe");
  auto arguments = std::make_shared<ConfigArguments>();
  arguments->recipe.add_to(*command);
  command->add_option("--diff", arguments->other, "print what differs from this recipe");
  command->add_flag("--json", arguments->json, "as JSON");
  command->add_flag("--types", arguments->types, "what every setting takes");
  command->callback([arguments] { print_config(*arguments); });
}

}  // namespace titan::cli
