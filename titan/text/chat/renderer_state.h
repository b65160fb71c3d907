#pragma once
// What a Renderer consists of.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "titan/text/chat/answer_format.h"
#include "titan/text/chat/conversation.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/chat/tokenized_text.h"
#include "titan/text/jinja/template.h"

namespace titan::text::chat {

struct Renderer::State {
  State(Tokenizer used_tokenizer, const RendererOptions& options);

  // The first `count` messages through the template.
  [[nodiscard]] jinja::Output print(
      Conversation& conversation, size_t count, bool add_generation_prompt) const;

  // Where assistant message `index` lies in the tokens of the whole conversation.
  [[nodiscard]] Turn find_turn(
      Conversation& conversation, size_t index, const TokenizedText& whole) const;

  [[nodiscard]] std::vector<TokenRange> find_spans(
      Conversation& conversation,
      const TokenizedText& whole,
      const RenderOptions& options) const;

  [[nodiscard]] bool ends_in_reasoning(std::span<const int32_t> prompt) const;

  Tokenizer tokenizer;
  jinja::Template chat_template;
  const AnswerFormat& format;
  std::string format_name;
  std::vector<int32_t> turn_end_ids;                                // in a conversation
  std::vector<int32_t> stop_ids;                                    // of an answer
  std::vector<std::pair<std::string, std::string>> special_tokens;  // as variables
  int64_t fixed_time;
};

}  // namespace titan::text::chat
