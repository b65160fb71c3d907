#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/data/tokenize.h"
#include "titan/train/model_files.h"

namespace titan::cli {
namespace {

struct TokenizeArguments {
  RecipeArguments recipe;
  std::string folder;
  int64_t tokens_per_file = int64_t{1} << 27;
};

void run_tokenize(const TokenizeArguments& arguments) {
  const train::TrainConfig config = arguments.recipe.resolve();
  const data::TokenizeResult result = data::write_token_files(
      config.data,
      train::open_tokenizer(config),
      arguments.folder,
      arguments.tokens_per_file);
  fmt::print(
      "{}: {} tokens of {} documents in {} files; left out: {} without a token to "
      "predict, {} not valid\n",
      arguments.folder,
      result.tokens,
      result.counts.documents,
      result.files,
      result.counts.without_label,
      result.counts.bad);
}

}  // namespace

void add_data(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "prepare training data");
  command->require_subcommand(1);
  CLI::App* tokenize = command->add_subcommand(
      "tokenize", "write the token ids of a recipe's data.sources, once");
  auto arguments = std::make_shared<TokenizeArguments>();
  arguments->recipe.add_to(*tokenize);
  tokenize->add_option("--out", arguments->folder, "folder to make")->required();
  tokenize
      ->add_option(
          "--tokens-per-file",
          arguments->tokens_per_file,
          "a new file is begun when one has as many")
      ->check(CLI::PositiveNumber);
  tokenize->callback([arguments] { run_tokenize(*arguments); });
}

}  // namespace titan::cli
