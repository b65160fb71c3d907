#pragma once
// What a model's answer says, in the terms of the OpenAI chat schema.

#include <string>
#include <vector>

#include "titan/base/json.h"

namespace titan::text::chat {

struct ToolCall {
  std::string id;  // empty where the format has none
  std::string name;
  Json arguments = Json::object();
};

// An assistant message that was read from token ids.
struct AssistantMessage {
  std::string content;
  std::string reasoning_content;
  std::vector<ToolCall> tool_calls;
  // The model closed its turn; false where the ids stop before a token that ends it.
  bool ended = false;
  // Text that looked like a tool call but is not one was kept in `content`.
  bool malformed_tool_call = false;

  // As a message of the schema: {"role": "assistant", "content", ...};
  // "reasoning_content" and "tool_calls" only where there are some. Arguments are a
  // string, as in the schema.
  [[nodiscard]] Json to_json() const;
};

}  // namespace titan::text::chat
