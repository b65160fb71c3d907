#pragma once
// How the model families write their answers: reasoning, tool calls, the end of a turn.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/chat/message.h"
#include "titan/text/tokenizer.h"

namespace titan::text::chat {

// An answer's text, up to the token that ended it.
struct Answer {
  std::string_view text;
  bool reasoning_is_open = false;  // the prompt ends within a reasoning block
  const Json* tools = nullptr;     // definitions, for the types of arguments; may be null
};

// One way to write answers.
struct AnswerFormat {
  std::string_view name;
  // A template or a vocabulary that has both is of this format.
  std::array<std::string_view, 2> markers;
  // Fills in content, reasoning and tool calls. Never throws on what a model may write.
  void (*parse)(const Answer& answer, AssistantMessage& message);
  // The turn-end token that in this format ends only a part of an answer.
  std::string_view part_end = {};
};

// InputError names the nearest format where there is none called `name`.
[[nodiscard]] const AnswerFormat& find_answer_format(const std::string& name);

// The first format whose markers the template has, else the vocabulary; "plain" where
// there is none.
[[nodiscard]] const AnswerFormat& recognise_answer_format(
    const std::string& chat_template, const Tokenizer& tokenizer);

// The ids that end an assistant's turn in a conversation: the tokenizer's EOS ids, then
// the turn-end tokens of the known families that it has.
[[nodiscard]] std::vector<int32_t> find_turn_end_ids(const Tokenizer& tokenizer);

}  // namespace titan::text::chat
