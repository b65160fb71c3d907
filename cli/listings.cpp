#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "titan/config/recipe.h"
#include "titan/models/common/causal_lm.h"
#include "titan/nn/override.h"
#include "titan/train/config.h"

namespace titan::cli {
namespace {

void print_recipes() {
  const auto& recipes = config::recipes<train::TrainConfig>();
  for (const std::string& name : recipes.names()) {
    fmt::print("{:<24} {}\n", name, recipes.at(name).description);
  }
}

void print_overrides() {
  for (const std::string& name : nn::overrides().names()) {
    const nn::OverrideEntry& entry = nn::overrides().at(name);
    fmt::print("{:<24} {:<14} {}\n", name, entry.kind, entry.description);
  }
}

void print_models() {
  for (const std::string& name : models::families().names()) {
    const models::Family& family = models::families().at(name);
    fmt::print(
        "{}: {} ({})\n", name, family.description, fmt::join(family.architectures, ", "));
    for (const models::Size& size : family.sizes) {
      const models::CausalLm model(size.config, {});
      fmt::print(
          "  {:<10} {:>17} parameters\n", size.name, model.parameters().num_parameters());
    }
  }
}

}  // namespace

void add_listings(CLI::App& app) {
  app.add_subcommand("recipes", "list the registered recipes")->callback(print_recipes);
  app.add_subcommand("overrides", "list the registered overrides")
      ->callback(print_overrides);
  app.add_subcommand("models", "list the model families and their sizes")
      ->callback(print_models);
}

}  // namespace titan::cli
