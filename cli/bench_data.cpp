#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/train/bench.h"

namespace titan::cli {
namespace {

struct DataArguments {
  RecipeArguments recipe;
  int64_t steps = 10;
};

// Against training, which takes what the loader makes.
void bench_data(const DataArguments& arguments) {
  const train::TrainConfig config = arguments.recipe.resolve();
  const train::DataBench data = train::bench_data(config);
  fmt::print("{:<34} {:>12.3f}\n", "opening and checking, s", data.open_seconds);
  fmt::print("{:<34} {:>12.0f}\n", "data tokens/s", data.tokens_per_second);
  fmt::print("{:<34} {:>12.2f}\n", "filling, % of the tokens", 100 * data.filling_share);
  const train::TrainBench training = train::bench_train(config, arguments.steps);
  fmt::print("{:<34} {:>12.0f}\n", "training tokens/s", training.tokens_per_second);
  fmt::print(
      "{:<34} {:>12.1f}\n",
      "data / training",
      data.tokens_per_second / training.tokens_per_second);
}

}  // namespace

void add_bench_data(CLI::App& bench) {
  CLI::App* command =
      bench.add_subcommand("data", "a recipe's data against its training");
  auto arguments = std::make_shared<DataArguments>();
  arguments->recipe.add_to(*command);
  command->add_option("--steps", arguments->steps, "measured steps of training")
      ->check(CLI::PositiveNumber);
  command->callback([arguments] { bench_data(*arguments); });
}

}  // namespace titan::cli
