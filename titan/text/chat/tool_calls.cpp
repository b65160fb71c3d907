#include "titan/text/chat/tool_calls.h"

#include <array>
#include <utility>

#include "titan/base/error.h"

namespace titan::text::chat {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view text, std::string_view set) {
  const size_t begin = text.find_first_not_of(set);
  if (begin == text.npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(set) - begin + 1);
}

}  // namespace

std::string_view take_reasoning(const Answer& answer, AssistantMessage& message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMarkers = {
      {{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}}};
  const std::string_view text = answer.text;
  const size_t start = std::min(text.find_first_not_of(kSpace), text.size());
  for (const auto& [begin, end] : kMarkers) {
    const bool opens = text.substr(start).starts_with(begin);
    const size_t close = text.find(end);
    // Without a known prompt an end alone tells that the prompt had the beginning.
    if (!opens && close == text.npos) {
      continue;
    }
    const size_t inner = opens ? start + begin.size() : 0;
    if (close != text.npos && close < inner) {
      continue;
    }
    message.reasoning_content = trim(text.substr(inner, close - inner), "\n");
    if (close == text.npos) {
      return {};
    }
    const std::string_view rest = text.substr(close + end.size());
    return rest.substr(std::min(rest.find_first_not_of('\n'), rest.size()));
  }
  if (answer.reasoning_is_open) {
    message.reasoning_content = trim(text, "\n");
    return {};
  }
  return text;
}

std::optional<Block> find_block(
    std::string_view text, std::string_view begin, std::string_view end) {
  const size_t first = text.find(begin);
  if (first == text.npos) {
    return std::nullopt;
  }
  const size_t inner = first + begin.size();
  const size_t close = text.find(end, inner);
  if (close == text.npos) {
    return Block{text.substr(first), text.substr(inner), false};
  }
  return Block{
      text.substr(first, close + end.size() - first),
      text.substr(inner, close - inner),
      true};
}

std::optional<Json> try_parse_json(std::string_view text) {
  constexpr size_t kMaxNesting = 100;
  size_t depth = 0;
  bool too_deep = false;
  const auto watch = [&](int, Json::parse_event_t event, Json&) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      too_deep = too_deep || ++depth > kMaxNesting;
    } else if (event == Event::object_end || event == Event::array_end) {
      --depth;
    }
    return !too_deep;
  };
  Json json = Json::parse(text, watch, false);
  if (too_deep || json.is_discarded()) {
    return std::nullopt;
  }
  return json;
}

std::optional<Json> try_parse_object(std::string_view text) {
  std::optional<Json> json = try_parse_json(text);
  return json && json->is_object() ? std::move(json) : std::nullopt;
}

std::optional<ToolCall> try_read_call(const Json& json, std::string_view arguments_key) {
  if (!json.is_object()) {
    return std::nullopt;
  }
  const auto name = json.find("name");
  const auto arguments = json.find(arguments_key);
  if (name == json.end() || !name->is_string()) {
    return std::nullopt;
  }
  ToolCall call;
  call.name = name->get<std::string>();
  if (const auto id = json.find("id"); id != json.end() && id->is_string()) {
    call.id = id->get<std::string>();
  }
  if (arguments == json.end() || arguments->is_null()) {
    return call;
  }
  if (arguments->is_string()) {
    std::optional<Json> parsed =
        try_parse_object(arguments->get_ref<const std::string&>());
    if (!parsed) {
      return std::nullopt;
    }
    call.arguments = std::move(*parsed);
  } else if (arguments->is_object()) {
    call.arguments = *arguments;
  } else {
    return std::nullopt;
  }
  return call;
}

void read_blocks(
    std::string_view text,
    std::string_view begin,
    std::string_view end,
    std::optional<ToolCall> (*read)(std::string_view inner),
    AssistantMessage& message) {
  while (const std::optional<Block> block = find_block(text, begin, end)) {
    const auto offset = static_cast<size_t>(block->whole.data() - text.data());
    std::string_view before = text.substr(0, offset);
    std::optional<ToolCall> call = read(block->inner);
    if (call) {
      message.tool_calls.push_back(std::move(*call));
      before = trim(before, kSpace).empty() ? std::string_view() : before;
      message.content += before;
    } else {
      message.malformed_tool_call = true;
      message.content += before;
      message.content += block->whole;
    }
    text.remove_prefix(offset + block->whole.size());
  }
  if (message.tool_calls.empty() || !trim(text, kSpace).empty()) {
    message.content += text;
  }
}

void trim_content(AssistantMessage& message) {
  if (!message.tool_calls.empty()) {
    message.content = trim(message.content, "\n");
  }
}

void parse_plain(const Answer& answer, AssistantMessage& message) {
  message.content = take_reasoning(answer, message);
}

void parse_hermes(const Answer& answer, AssistantMessage& message) {
  const std::string_view text = take_reasoning(answer, message);
  const auto read = [](std::string_view inner) -> std::optional<ToolCall> {
    const std::optional<Json> json = try_parse_object(inner);
    return json ? try_read_call(*json, "arguments") : std::nullopt;
  };
  read_blocks(text, "<tool_call>", "</tool_call>", read, message);
  trim_content(message);
}

void parse_llama3_json(const Answer& answer, AssistantMessage& message) {
  constexpr std::string_view kTag = "<|python_tag|>";
  std::string_view text = take_reasoning(answer, message);
  std::string_view rest = trim(text, kSpace);
  const bool tagged = rest.starts_with(kTag);
  if (tagged) {
    rest.remove_prefix(kTag.size());
  }
  std::optional<Json> json = try_parse_object(rest);
  std::optional<ToolCall> call;
  if (json) {
    call =
        try_read_call(*json, json->contains("parameters") ? "parameters" : "arguments");
  }
  if (call) {
    message.tool_calls.push_back(std::move(*call));
    return;
  }
  message.content = text;
  // Python code after the tag is the other legal use of it.
  message.malformed_tool_call =
      trim(rest, kSpace).starts_with("{\"name\"") || (tagged && json.has_value());
}

}  // namespace titan::text::chat
