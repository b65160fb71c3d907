// The tool calls of Mistral's models.

#include <utility>

#include "titan/text/chat/tool_calls.h"

namespace titan::text::chat {
namespace {

constexpr std::string_view kCalls = "[TOOL_CALLS]";

// The list form of the older models.
std::optional<std::vector<ToolCall>> read_list(std::string_view text) {
  const std::optional<Json> list = try_parse_json(text);
  if (!list || !list->is_array() || list->empty()) {
    return std::nullopt;
  }
  std::vector<ToolCall> calls;
  for (const Json& json : *list) {
    std::optional<ToolCall> call = try_read_call(json, "arguments");
    if (!call) {
      return std::nullopt;
    }
    calls.push_back(std::move(*call));
  }
  return calls;
}

// NAME[CALL_ID]id[ARGS]{...}, where the markers may be missing.
std::optional<ToolCall> read_named(std::string_view text) {
  const size_t brace = text.find('{');
  if (brace == text.npos) {
    return std::nullopt;
  }
  std::optional<Json> arguments = try_parse_object(text.substr(brace));
  std::string_view head = text.substr(0, brace);
  if (const size_t mark = head.find("[ARGS]"); mark != head.npos) {
    head = head.substr(0, mark);
  }
  ToolCall call;
  constexpr std::string_view kId = "[CALL_ID]";
  if (const size_t mark = head.find(kId); mark != head.npos) {
    call.id = head.substr(mark + kId.size());
    head = head.substr(0, mark);
  }
  if (!arguments || head.empty() || head.find_first_of(" \n[") != head.npos) {
    return std::nullopt;
  }
  call.name = head;
  call.arguments = std::move(*arguments);
  return call;
}

}  // namespace

void parse_mistral(const Answer& answer, AssistantMessage& message) {
  std::string_view text = take_reasoning(answer, message);
  size_t next = text.find(kCalls);
  message.content = text.substr(0, next);
  while (next != text.npos) {
    text.remove_prefix(next);
    next = text.find(kCalls, kCalls.size());
    const std::string_view whole = text.substr(0, next);
    const std::string_view inner = whole.substr(kCalls.size());
    std::optional<std::vector<ToolCall>> list = read_list(inner);
    std::optional<ToolCall> named = list ? std::nullopt : read_named(inner);
    if (list) {
      std::ranges::move(*list, std::back_inserter(message.tool_calls));
    } else if (named) {
      message.tool_calls.push_back(std::move(*named));
    } else {
      message.content += whole;
      message.malformed_tool_call = true;
    }
  }
  trim_content(message);
}

}  // namespace titan::text::chat
