#include "titan/train/bench.h"

#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/base/error.h"
#include "titan/observe/machine.h"
#include "titan/ops/cpu/isa.h"

namespace titan::cli {
namespace {

struct BenchArguments {
  std::string name;
  RecipeArguments recipe;
  int64_t steps = 10;
};

void run_bench(const BenchArguments& arguments) {
  if (arguments.name != "train") {
    fail<InputError>("bench: expected train, got {}", arguments.name);
  }
  fmt::print(
      "{}; {}, {} threads\n",
      observe::machine_text(observe::describe_machine()),
      ops::cpu::isa_name(ops::cpu::isa()),
      at::get_num_threads());
  const train::TrainBench result =
      train::bench_train(arguments.recipe.resolve(), arguments.steps);
  fmt::print("{:<34} {:>12.0f}\n", "tokens/s (median step)", result.tokens_per_second);
  fmt::print("{:<34} {:>12.3f}\n", "step, s (median)", result.step_seconds);
  fmt::print("{:<34} {:>12.3f}\n", "  forward and backward, s", result.gradient_seconds);
  fmt::print("{:<34} {:>12.3f}\n", "  norm and update, s", result.update_seconds);
  fmt::print(
      "{:<34} {:>12.1f}\n", "matmul peak measured, GFLOP/s", result.peak_flops / 1e9);
  fmt::print("{:<34} {:>12.1f}\n", "MFU against it, %", 100 * result.mfu);
  fmt::print(
      "{:<34} {:>12.0f}\n",
      "peak RSS, MB",
      static_cast<double>(result.peak_rss_bytes) / 1e6);
  fmt::print("{:<34} {:>12.3f}\n", "loss of the last step", result.loss);
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "measure this machine");
  auto arguments = std::make_shared<BenchArguments>();
  command->add_option("NAME", arguments->name, "train")->required();
  arguments->recipe.add_to(*command);
  command->add_option("--steps", arguments->steps, "measured steps after two to warm up")
      ->check(CLI::PositiveNumber);
  command->callback([arguments] { run_bench(*arguments); });
}

}  // namespace titan::cli
