// Conversations that are always extensions of their own tokens.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/chat/conversation.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/chat/renderer_state.h"
#include "titan/text/chat/tokenized_text.h"

namespace titan::text::chat {
namespace {

// Stands for text that what follows must not depend on.
constexpr const char* kAnyText = "A";

Json any_user() {
  return {{"role", "user"}, {"content", kAnyText}};
}

Json any_assistant() {
  return {{"role", "assistant"}, {"content", kAnyText}};
}

// A member that is a string, where it is there.
std::string text_member(
    const Json& message, const char* key, const std::string& otherwise) {
  const auto found = message.find(key);
  return found == message.end() || !found->is_string() ? otherwise
                                                       : found->get<std::string>();
}

// The results of tools that `messages` begin with.
std::vector<const Json*> leading_results(const Json& messages) {
  std::vector<const Json*> results;
  for (const Json& message : messages) {
    if (message.at("role") != "tool") {
      break;
    }
    results.push_back(&message);
  }
  return results;
}

// An assistant message in the place of `answer`: with calls where results follow, named
// as the answer has them, since templates look for them.
Json stand_in(const AssistantMessage& answer, const Json& new_messages) {
  const std::vector<const Json*> results = leading_results(new_messages);
  if (results.empty()) {
    return any_assistant();
  }
  Json message = {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array()}};
  for (size_t i = 0; i < std::max(results.size(), answer.tool_calls.size()); ++i) {
    const ToolCall call =
        i < answer.tool_calls.size() ? answer.tool_calls[i] : ToolCall{"", kAnyText, {}};
    std::string id = call.id;
    std::string name = call.name;
    if (i < results.size()) {
      id = text_member(*results[i], "tool_call_id", id);
      name = i < answer.tool_calls.size() ? name : text_member(*results[i], "name", name);
    }
    Json entry = {
        {"type", "function"},
        {"function", {{"name", name}, {"arguments", Json::object()}}}};
    if (!id.empty()) {
      entry["id"] = id;
    }
    message["tool_calls"].push_back(std::move(entry));
  }
  return message;
}

Json joined(Json messages, const Json& more) {
  for (const Json& message : more) {
    messages.push_back(message);
  }
  return messages;
}

// What follows the assistant's turn, with the token that ends it in front.
struct Continuation {
  std::vector<int32_t> ids;
  std::string refusal;
};

}  // namespace

Bridge Renderer::bridge(
    std::span<const int32_t> prompt,
    std::span<const int32_t> answer,
    const Json& new_messages,
    const Json& tools,
    const RenderOptions& options) const {
  (void)Conversation(new_messages, tools, options.variables);
  for (size_t i = 0; i < new_messages.size(); ++i) {
    if (new_messages[i].at("role") == "assistant") {
      fail<InputError>("messages[{}]: what the model writes cannot be bridged", i);
    }
  }
  const auto continuation = [&](Json history) {
    const size_t turn_index = history.size() - 1;
    const Json messages = joined(std::move(history), new_messages);
    Conversation conversation(messages, tools, options.variables);
    Continuation result;
    try {
      const TokenizedText whole = tokenize_output(
          state_->tokenizer,
          state_->print(conversation, conversation.size(), true),
          options.parse_special_in_content);
      const Turn turn = state_->find_turn(conversation, turn_index, whole);
      result.refusal = turn.refusal;
      if (turn.refusal.empty()) {
        result.ids.assign(
            whole.ids.begin() + static_cast<ptrdiff_t>(turn.tokens.end) - 1,
            whole.ids.end());
      }
    } catch (const InputError& error) {
      result.refusal = error.what();  // the template does not take such a conversation
    }
    return result;
  };

  const AssistantMessage parsed = parse(answer, prompt, tools);
  const Json last = stand_in(parsed, new_messages);
  Continuation after = continuation({any_user(), last});
  if (!after.refusal.empty()) {
    return {{}, after.refusal};
  }
  if (after.ids != continuation({any_user(), any_assistant(), any_user(), last}).ids) {
    return {{}, "what the template writes after an answer depends on the turns before"};
  }
  const auto is_in = [](const std::vector<int32_t>& ids, int32_t id) {
    return std::ranges::find(ids, id) != ids.end();
  };
  if (!is_in(state_->turn_end_ids, after.ids.front())) {
    return {{}, "the template writes no end-of-turn token"};
  }
  if (!answer.empty() && is_in(state_->stop_ids, answer.back())) {
    after.ids.erase(after.ids.begin());
  }
  return {std::move(after.ids), ""};
}

}  // namespace titan::text::chat
