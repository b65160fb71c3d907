// Tool calls in a section with a block for each: DeepSeek and Kimi.

#include <utility>

#include "titan/text/chat/tool_calls.h"

namespace titan::text::chat {
namespace {

// The markers of a family.
struct Section {
  std::string_view begin;
  std::string_view end;
  std::string_view call_begin;
  std::string_view call_end;
};

constexpr Section kDeepseek = {
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>"};

constexpr Section kKimi = {
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>"};

using Reader = std::optional<ToolCall> (*)(std::string_view inner);

void parse_section(
    const Answer& answer,
    const Section& section,
    Reader read,
    AssistantMessage& message) {
  const std::string_view text = take_reasoning(answer, message);
  const std::optional<Block> block = find_block(text, section.begin, section.end);
  if (!block) {
    message.content = text;
    return;
  }
  const auto offset = static_cast<size_t>(block->whole.data() - text.data());
  AssistantMessage calls;
  read_blocks(block->inner, section.call_begin, section.call_end, read, calls);
  message.content = text.substr(0, offset);
  message.tool_calls = std::move(calls.tool_calls);
  message.malformed_tool_call = calls.malformed_tool_call || message.tool_calls.empty();
  if (message.malformed_tool_call) {
    message.content += message.tool_calls.empty() ? block->whole : calls.content;
  }
  message.content += text.substr(offset + block->whole.size());
  trim_content(message);
}

std::optional<ToolCall> make_call(std::string_view name, std::string_view arguments) {
  std::optional<Json> json = try_parse_object(arguments);
  if (!json || name.empty()) {
    return std::nullopt;
  }
  return ToolCall{"", std::string(name), std::move(*json)};
}

}  // namespace

void parse_deepseek_v3(const Answer& answer, AssistantMessage& message) {
  const auto read = [](std::string_view inner) -> std::optional<ToolCall> {
    const std::optional<Block> name = find_block(inner, "<｜tool▁sep｜>", "\n");
    const std::optional<Block> json = find_block(inner, "```json\n", "\n```");
    return name && json ? make_call(name->inner, json->inner) : std::nullopt;
  };
  parse_section(answer, kDeepseek, read, message);
}

void parse_deepseek_v31(const Answer& answer, AssistantMessage& message) {
  const auto read = [](std::string_view inner) -> std::optional<ToolCall> {
    constexpr std::string_view kSeparator = "<｜tool▁sep｜>";
    const size_t at = inner.find(kSeparator);
    return at == inner.npos
               ? std::nullopt
               : make_call(inner.substr(0, at), inner.substr(at + kSeparator.size()));
  };
  parse_section(answer, kDeepseek, read, message);
}

void parse_kimi_k2(const Answer& answer, AssistantMessage& message) {
  // The id names the function and counts the calls: "functions.get_weather:0".
  const auto read = [](std::string_view inner) -> std::optional<ToolCall> {
    constexpr std::string_view kSeparator = "<|tool_call_argument_begin|>";
    constexpr std::string_view kPrefix = "functions.";
    const size_t at = inner.find(kSeparator);
    if (at == inner.npos) {
      return std::nullopt;
    }
    std::string_view id = inner.substr(0, at);
    id = id.substr(std::min(id.find_first_not_of(" \n"), id.size()));
    std::string_view name = id.substr(0, id.rfind(':'));
    if (name.starts_with(kPrefix)) {
      name.remove_prefix(kPrefix.size());
    }
    std::optional<ToolCall> call = make_call(name, inner.substr(at + kSeparator.size()));
    if (call) {
      call->id = id;
    }
    return call;
  };
  parse_section(answer, kKimi, read, message);
}

}  // namespace titan::text::chat
