// The answers of gpt-oss: messages on channels.

#include <utility>

#include "titan/text/chat/tool_calls.h"

namespace titan::text::chat {
namespace {

constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kEnd = "<|end|>";
constexpr std::string_view kFunctions = "to=functions.";

// One message: the header says the channel and whom it is for.
void read_message(
    std::string_view header,
    std::string_view body,
    std::string_view whole,
    AssistantMessage& message) {
  const size_t channel_at = header.find(kChannel);
  const std::string_view channel = channel_at == header.npos
                                       ? std::string_view()
                                       : header.substr(channel_at + kChannel.size());
  if (const size_t to = header.find(kFunctions); to != header.npos) {
    std::string_view name = header.substr(to + kFunctions.size());
    name = name.substr(0, name.find_first_of(" <\n"));
    std::optional<Json> arguments = try_parse_object(body);
    if (arguments && !name.empty()) {
      message.tool_calls.push_back({"", std::string(name), std::move(*arguments)});
    } else {
      message.content += whole;
      message.malformed_tool_call = true;
    }
  } else if (channel.starts_with("analysis")) {
    message.reasoning_content += message.reasoning_content.empty() ? "" : "\n";
    message.reasoning_content += body;
  } else {
    message.content += message.content.empty() ? "" : "\n";
    message.content += body;
  }
}

}  // namespace

void parse_harmony(const Answer& answer, AssistantMessage& message) {
  std::string_view text = answer.text;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find(kEnd));
    const size_t body = whole.find(kMessage);
    if (body != whole.npos) {
      read_message(
          whole.substr(0, body), whole.substr(body + kMessage.size()), whole, message);
    } else if (whole.size() == answer.text.size()) {
      message.content = whole;  // no header at all: plain text
    }
    text.remove_prefix(std::min(text.size(), whole.size() + kEnd.size()));
  }
}

}  // namespace titan::text::chat
