#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/tokenizer.h"

namespace titan::cli {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string text;
  std::string file;
  bool special = false;
};

// One line a token: its id and its text as a JSON string. Bytes that are no whole
// character are shown as U+FFFD.
void run_tokenize(const TokenizeArguments& arguments) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(arguments.model);
  const std::string text =
      arguments.file.empty() ? arguments.text : read_file(arguments.file);
  for (const int32_t id :
       tokenizer.encode(text, {.add_special_tokens = arguments.special})) {
    const std::string piece =
        Json(tokenizer.piece(id)).dump(-1, ' ', false, Json::error_handler_t::replace);
    fmt::print("{}\t{}\n", id, piece);
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "ids and pieces of a text");
  auto arguments = std::make_shared<TokenizeArguments>();
  command->add_option("MODEL", arguments->model, "model folder or tokenizer.json")
      ->required();
  CLI::Option* text = command->add_option("TEXT", arguments->text, "what is tokenized");
  CLI::Option* file =
      command->add_option("--file", arguments->file, "a file with the text");
  file->excludes(text);
  command->add_flag(
      "--special", arguments->special, "add the special tokens of the post-processor");
  command->callback([arguments, text, file] {
    if (text->count() + file->count() == 0) {
      throw CLI::RequiredError("TEXT or --file");
    }
    run_tokenize(*arguments);
  });
}

}  // namespace titan::cli
