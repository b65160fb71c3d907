#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "titan/config/assign.h"
#include "titan/generate/generator.h"
#include "titan/text/stream_decoder.h"

namespace titan::cli {
namespace {

struct GenerateArguments {
  std::string model;
  std::string prompt;
  std::string dtype = "bf16";
  generate::GenerateOptions options;
};

void run_generate(const GenerateArguments& arguments) {
  config::check(arguments.options.sampling);
  const models::OpenedModel opened = models::open_model(
      arguments.model, {.compute_dtype = dtype_argument(arguments.dtype)});
  const text::Tokenizer tokenizer = tokenizer_of(opened);
  const std::vector<int32_t> ids =
      tokenizer.encode(arguments.prompt, {.add_special_tokens = true});
  generate::GenerateOptions options = arguments.options;
  options.end_tokens = tokenizer.eos_ids();

  text::StreamDecoder stream(tokenizer, {.skip_special_tokens = true});
  const auto print = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  print(arguments.prompt);
  (void)generate::generate(
      *opened.model, {ids.begin(), ids.end()}, options, [&](int64_t token) {
        print(stream.push(static_cast<int32_t>(token)));
      });
  print(stream.finish() + "\n");
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "continue a prompt");
  auto arguments = std::make_shared<GenerateArguments>();
  generate::SamplingConfig& sampling = arguments->options.sampling;
  command
      ->add_option(
          "MODEL", arguments->model, "model folder, run, checkpoint or GGUF file")
      ->required();
  command->add_option("--prompt", arguments->prompt, "text to continue")->required();
  command->add_option("--max-tokens", arguments->options.max_tokens, "new tokens at most")
      ->check(CLI::PositiveNumber);
  command->add_option("--temperature", sampling.temperature, "0 (the default) is greedy");
  command->add_option("--top-k", sampling.top_k, "draw from the k most probable; 0: all");
  command->add_option(
      "--top-p", sampling.top_p, "draw from the fewest with this probability");
  command->add_option("--seed", sampling.seed, "of the draws");
  command->add_option("--dtype", arguments->dtype, "fp32 or bf16 (the default)");
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace titan::cli
