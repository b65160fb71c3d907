#include "titan/train/bench.h"

#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include "cli/bench_ops/cases.h"
#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/base/nearest.h"
#include "titan/observe/machine.h"
#include "titan/ops/cpu/isa.h"
#include "titan/train/peak.h"

namespace titan::cli {
namespace {

std::string machine_line() {
  return fmt::format(
      "{}; {}, {} threads",
      observe::machine_text(observe::describe_machine()),
      ops::cpu::isa_name(ops::cpu::isa()),
      at::get_num_threads());
}

struct TrainArguments {
  RecipeArguments recipe;
  int64_t steps = 10;
};

void bench_train(const TrainArguments& arguments) {
  fmt::print("{}\n", machine_line());
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

struct OpsArguments {
  std::string only = "*";
  std::string out;
};

void bench_ops(const OpsArguments& arguments) {
  const std::string machine = machine_line();
  const Peaks peaks{
      .flops_fp32 = train::measure_matmul_peak(at::kFloat),
      .flops_bf16 = train::measure_matmul_peak(at::kBFloat16),
      .bytes = measure_copy_bandwidth()};
  fmt::print("{}\n", machine);
  fmt::print(
      "{:<24} {:<40} {:>10} {:>10} {:>7}  rate, share of peak\n",
      "op",
      "shape",
      "ms",
      "library",
      "ratio");
  // Made one family at a time: the operands of all would not fit together.
  std::vector<OpTime> times;
  const auto measure = [&](std::vector<OpCase> cases) {
    for (OpCase& work : cases) {
      if (glob_match(arguments.only, work.op)) {
        times.push_back(time_case(std::move(work)));
        fmt::print("{}\n", terminal_row(times.back(), peaks));
      }
    }
  };
  for (const at::ScalarType dtype : {at::kBFloat16, at::kFloat}) {
    for (const auto& cases : {&attention_cases, &linear_cases, &head_cases, &row_cases}) {
      measure(cases(dtype));
    }
  }
  measure(optimizer_cases());
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    write_file_atomic(folder / "ops.md", markdown_table(machine, times, peaks));
    write_file_atomic(folder / "ops.svg", ratio_chart(machine, times));
  }
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "measure this machine");
  bench->require_subcommand(1);

  CLI::App* train = bench->add_subcommand("train", "steps of a recipe");
  auto train_arguments = std::make_shared<TrainArguments>();
  train_arguments->recipe.add_to(*train);
  train
      ->add_option(
          "--steps", train_arguments->steps, "measured steps after two to warm up")
      ->check(CLI::PositiveNumber);
  train->callback([train_arguments] { bench_train(*train_arguments); });

  add_bench_data(*bench);

  CLI::App* ops = bench->add_subcommand("ops", "each operator against the library's");
  auto ops_arguments = std::make_shared<OpsArguments>();
  ops->add_option("--only", ops_arguments->only, "glob over operator names");
  ops->add_option(
      "--out", ops_arguments->out, "folder for the table (ops.md) and chart (ops.svg)");
  ops->callback([ops_arguments] { bench_ops(*ops_arguments); });
}

}  // namespace titan::cli
