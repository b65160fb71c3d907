#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/checkpoint/gguf_import.h"
#include "titan/checkpoint/hf_export.h"

namespace titan::cli {
namespace {

struct ImportArguments {
  std::string source;
  std::string destination;
  std::string dtype = "bf16";
};

void run_import(const ImportArguments& arguments) {
  if (fs::path(arguments.source).extension() != ".gguf") {
    fail<InputError>(
        "{}: expected a .gguf file (a Hugging Face folder needs no import)",
        arguments.source);
  }
  checkpoint::GgufModel model =
      checkpoint::open_gguf_model(arguments.source, dtype_argument(arguments.dtype));
  const checkpoint::HfExport content{
      .config = std::move(model.config),
      .tensors = std::move(model.tensors),
      .files = tokenizer_files(model.tokenizer)};
  checkpoint::save_hf_folder(arguments.destination, content);
  log::info(
      "imported {} tensors of {} into {}",
      content.tensors.size(),
      arguments.source,
      arguments.destination);
}

}  // namespace

void add_import(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("import", "a GGUF file as a Hugging Face folder");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("SRC", arguments->source, "a .gguf file")->required();
  command->add_option("DST", arguments->destination, "the folder that is made")
      ->required();
  command->add_option(
      "--dtype", arguments->dtype, "of the tensors: bf16 (the default) or fp32");
  command->callback([arguments] { run_import(*arguments); });
}

}  // namespace titan::cli
