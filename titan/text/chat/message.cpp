#include "titan/text/chat/message.h"

namespace titan::text::chat {

Json AssistantMessage::to_json() const {
  Json json = {{"role", "assistant"}, {"content", content}};
  if (!reasoning_content.empty()) {
    json["reasoning_content"] = reasoning_content;
  }
  for (const ToolCall& call : tool_calls) {
    Json entry = {
        {"type", "function"},
        {"function", {{"name", call.name}, {"arguments", call.arguments.dump()}}}};
    if (!call.id.empty()) {
      entry["id"] = call.id;
    }
    json["tool_calls"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace titan::text::chat
