#include "titan/data/processor.h"

#include <algorithm>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan::data {
namespace {

namespace chat = text::chat;

}  // namespace

Processor::Processor(const DataConfig& config, const text::Tokenizer& tokenizer)
    : config_(config), tokenizer_(tokenizer) {
  if (config.add_bos && !tokenizer.bos_id()) {
    fail<ConfigError>("data.add_bos: {} has no BOS token", tokenizer.name());
  }
  if (config.add_eos && tokenizer.eos_ids().empty()) {
    fail<ConfigError>("data.add_eos: {} has no EOS token", tokenizer.name());
  }
  const bool has_chats = std::ranges::any_of(config.sources, [](const auto& source) {
    return source.kind == DocumentKind::kChat;
  });
  if (has_chats) {
    chat::RendererOptions options;
    if (!config.chat.template_file.empty()) {
      options.chat_template = read_file(config.chat.template_file);
    }
    renderer_.emplace(tokenizer, options);
  }
}

Example Processor::operator()(const Document& document) const {
  if (const auto* tokens = std::get_if<Tokens>(&document)) {
    return {tokens->ids, tokens->targets};
  }
  if (const auto* chat = std::get_if<Chat>(&document)) {
    return render(*chat);
  }
  return encode(std::get<std::string>(document));
}

Example Processor::encode(const std::string& text) const {
  std::vector<int32_t> ids = tokenizer_.encode(text);
  if (config_.add_bos) {
    ids.insert(ids.begin(), *tokenizer_.bos_id());
  }
  if (config_.add_eos) {
    ids.push_back(tokenizer_.eos_ids().front());
  }
  return Example(std::move(ids));
}

Example Processor::render(const Chat& chat) const {
  chat::RenderOptions options;
  options.assistant_spans = config_.chat.turns == ChatTurns::kLast
                                ? chat::AssistantSpans::kLast
                                : chat::AssistantSpans::kAll;
  chat::Rendering rendering = renderer_->render(chat.messages, chat.tools, options);
  std::vector<uint8_t> targets(rendering.ids.size(), 0);
  for (const chat::TokenRange& span : rendering.assistant_spans) {
    std::fill(
        targets.begin() + static_cast<std::ptrdiff_t>(span.begin),
        targets.begin() + static_cast<std::ptrdiff_t>(span.end),
        uint8_t{1});
  }
  return Example(std::move(rendering.ids), std::move(targets));
}

}  // namespace titan::data
