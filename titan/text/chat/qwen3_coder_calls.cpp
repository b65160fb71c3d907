// The tool calls of Qwen3-Coder and Qwen3.5: tags instead of JSON.

#include <utility>

#include "titan/text/chat/tool_calls.h"

namespace titan::text::chat {
namespace {

// The type that the tools' definitions give a parameter; empty where they do not say.
std::string parameter_type(
    const Json* tools, const std::string& function, const std::string& parameter) {
  if (tools == nullptr || !tools->is_array()) {
    return "";
  }
  for (const Json& tool : *tools) {
    const Json::json_pointer kName("/function/name");
    if (!tool.is_object() || tool.value(kName, "") != function) {
      continue;
    }
    const Json& definition = tool.at("function");
    const Json* node = &definition;
    for (const std::string& key :
         {std::string("parameters"),
          std::string("properties"),
          parameter,
          std::string("type")}) {
      if (!node->is_object() || !node->contains(key)) {
        return "";
      }
      node = &node->at(key);
    }
    return node->is_string() ? node->get<std::string>() : "";
  }
  return "";
}

// A value is text; where its type is not str it is JSON, if it can be.
Json read_value(std::string_view text, const std::string& type) {
  if (type != "string") {
    std::optional<Json> json = try_parse_json(text);
    if (json && !json->is_string()) {
      return std::move(*json);
    }
  }
  return std::string(text);
}

// One line end on each side is the format's.
std::string_view without_frame(std::string_view text) {
  if (text.starts_with('\n')) {
    text.remove_prefix(1);
  }
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  return text;
}

// "NAME>...": the name of a tag and what follows it.
std::optional<std::pair<std::string, std::string_view>> split_name(
    std::string_view inner) {
  const size_t end = inner.find('>');
  if (end == inner.npos || end == 0) {
    return std::nullopt;
  }
  return std::pair(std::string(inner.substr(0, end)), inner.substr(end + 1));
}

std::optional<ToolCall> read_function(std::string_view inner, const Json* tools) {
  auto head = split_name(inner);
  if (!head) {
    return std::nullopt;
  }
  ToolCall call;
  call.name = head->first;
  std::string_view text = head->second;
  while (const auto block = find_block(text, "<parameter=", "</parameter>")) {
    const auto parameter = split_name(block->inner);
    if (!parameter || !block->closed) {
      return std::nullopt;
    }
    const auto& [key, value] = *parameter;
    call.arguments[key] =
        read_value(without_frame(value), parameter_type(tools, call.name, key));
    text.remove_prefix(
        static_cast<size_t>(block->whole.data() - text.data()) + block->whole.size());
  }
  return call;
}

}  // namespace

void parse_qwen3_coder(const Answer& answer, AssistantMessage& message) {
  std::string_view text = take_reasoning(answer, message);
  while (const auto block = find_block(text, "<tool_call>", "</tool_call>")) {
    const auto offset = static_cast<size_t>(block->whole.data() - text.data());
    message.content += text.substr(0, offset);
    const auto function = find_block(block->inner, "<function=", "</function>");
    std::optional<ToolCall> call;
    if (function && function->closed) {
      call = read_function(function->inner, answer.tools);
    }
    if (call) {
      message.tool_calls.push_back(std::move(*call));
    } else {
      message.content += block->whole;
      message.malformed_tool_call = true;
    }
    text.remove_prefix(offset + block->whole.size());
  }
  message.content += text;
  trim_content(message);
}

}  // namespace titan::text::chat
