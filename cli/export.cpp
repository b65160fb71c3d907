#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/checkpoint/hf_export.h"
#include "titan/models/common/weights.h"

namespace titan::cli {
namespace {

struct ExportArguments {
  std::string source;
  std::string destination;
  std::string format = "hf";
  std::string dtype = "bf16";
};

std::vector<checkpoint::TextFile> tokenizer_files(const models::OpenedModel& opened) {
  std::vector<checkpoint::TextFile> files;
  for (const char* name : models::kTokenizerFiles) {
    if (fs::exists(opened.files / name)) {
      files.push_back({name, read_file(opened.files / name)});
    }
  }
  return files;
}

void run_export(const ExportArguments& arguments) {
  if (arguments.format != "hf") {
    fail<InputError>("--format: expected hf, got {}", arguments.format);
  }
  const at::ScalarType dtype = dtype_argument(arguments.dtype);
  const models::OpenedModel opened = models::open_model(arguments.source, {});
  if (opened.gguf_tokenizer) {
    fail<InputError>("{}: use `titan import` for a GGUF file", arguments.source);
  }
  checkpoint::save_hf_folder(
      arguments.destination,
      {.config = models::export_config(*opened.model, opened.hugging_face, dtype),
       .tensors = models::export_weights(*opened.model, dtype),
       .files = tokenizer_files(opened)});
  log::info("exported {} to {}", arguments.source, arguments.destination);
}

}  // namespace

void add_export(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("export", "a run or checkpoint as a model folder");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("SRC", arguments->source, "run folder, checkpoint or model folder")
      ->required();
  command->add_option("DST", arguments->destination, "the folder that is made")
      ->required();
  command->add_option("--format", arguments->format, "hf");
  command->add_option(
      "--dtype", arguments->dtype, "of the tensors: bf16 (the default) or fp32");
  command->callback([arguments] { run_export(*arguments); });
}

}  // namespace titan::cli
