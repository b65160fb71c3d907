#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/tokenizer.h"

namespace titan::cli {
namespace {

struct TokenizeArguments {
  std::string model;
  std::string text;
  std::string file;
  std::string chat;
  std::string tools;
  bool special = false;
  bool generation_prompt = false;
};

// The token's text as a JSON string. Bytes that are no whole character are shown as
// U+FFFD.
std::string piece_text(const text::Tokenizer& tokenizer, int32_t id) {
  return Json(tokenizer.piece(id)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// One line a token: its id and its text.
void tokenize_text(const text::Tokenizer& tokenizer, const TokenizeArguments& arguments) {
  const std::string text =
      arguments.file.empty() ? arguments.text : read_file(arguments.file);
  for (const int32_t id :
       tokenizer.encode(text, {.add_special_tokens = arguments.special})) {
    fmt::print("{}\t{}\n", id, piece_text(tokenizer, id));
  }
}

// One line a token: its id, its text and who wrote it.
void tokenize_chat(const text::Tokenizer& tokenizer, const TokenizeArguments& arguments) {
  const text::chat::Renderer renderer(tokenizer);
  const Json tools = arguments.tools.empty() ? Json() : read_json_file(arguments.tools);
  const text::chat::Rendering rendering = renderer.render(
      read_json_file(arguments.chat),
      tools,
      {.add_generation_prompt = arguments.generation_prompt});
  for (size_t i = 0; i < rendering.ids.size(); ++i) {
    fmt::print(
        "{}\t{}\t{}\n",
        rendering.ids[i],
        piece_text(tokenizer, rendering.ids[i]),
        text::chat::origin_name(rendering.origins[i]));
  }
}

void run_tokenize(const TokenizeArguments& arguments) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(arguments.model);
  if (arguments.chat.empty()) {
    tokenize_text(tokenizer, arguments);
  } else {
    tokenize_chat(tokenizer, arguments);
  }
}

}  // namespace

void add_tokenize(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("tokenize", "ids and pieces of a text or a chat");
  auto arguments = std::make_shared<TokenizeArguments>();
  command->add_option("MODEL", arguments->model, "model folder or tokenizer.json")
      ->required();
  CLI::Option* text = command->add_option("TEXT", arguments->text, "what is tokenized");
  CLI::Option* file =
      command->add_option("--file", arguments->file, "a file with the text");
  CLI::Option* chat = command->add_option(
      "--chat", arguments->chat, "a JSON file with messages for the chat template");
  CLI::Option* tools = command->add_option(
      "--tools", arguments->tools, "a JSON file with the definitions of tools");
  CLI::Option* prompt = command->add_flag(
      "--generation-prompt",
      arguments->generation_prompt,
      "end the chat with the header of an answer");
  CLI::Option* special = command->add_flag(
      "--special", arguments->special, "add the special tokens of the post-processor");
  file->excludes(text);
  chat->excludes(text)->excludes(file)->excludes(special);
  tools->needs(chat);
  prompt->needs(chat);
  command->callback([arguments, text, file, chat] {
    if (text->count() + file->count() + chat->count() == 0) {
      throw CLI::RequiredError("TEXT, --file or --chat");
    }
    run_tokenize(*arguments);
  });
}

}  // namespace titan::cli
