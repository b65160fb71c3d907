#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/recipe_arguments.h"
#include "titan/train/trainer.h"

namespace titan::cli {

void add_train(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "pre-train or fine-tune");
  auto arguments = std::make_shared<RecipeArguments>();
  arguments->add_to(*command);
  command->callback([arguments] {
    train::Trainer trainer(arguments->resolve(), "titan train " + arguments->text());
    trainer.run();
  });
}

}  // namespace titan::cli
