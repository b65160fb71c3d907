#pragma once
// The parsers of the answer formats. None of them throws on what a model may write.

#include <optional>
#include <string>
#include <string_view>

#include "titan/text/chat/answer_format.h"

namespace titan::text::chat {

// Reasoning in <think> or [THINK], and content.
void parse_plain(const Answer& answer, AssistantMessage& message);
// <tool_call>{"name": ..., "arguments": {...}}</tool_call> (Hermes, Qwen2.5, Qwen3).
void parse_hermes(const Answer& answer, AssistantMessage& message);
// <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>.
void parse_qwen3_coder(const Answer& answer, AssistantMessage& message);
// {"name": ..., "parameters": {...}}, after <|python_tag|> or alone (Llama 3.1 and
// later).
void parse_llama3_json(const Answer& answer, AssistantMessage& message);
// [TOOL_CALLS][{"name", "arguments", "id"}] or [TOOL_CALLS]NAME[ARGS]{...}, repeated.
void parse_mistral(const Answer& answer, AssistantMessage& message);
// <｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME, a ```json block, <｜tool▁call▁end｜>.
void parse_deepseek_v3(const Answer& answer, AssistantMessage& message);
// <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>.
void parse_deepseek_v31(const Answer& answer, AssistantMessage& message);
// <|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}<|tool_call_end|>.
void parse_kimi_k2(const Answer& answer, AssistantMessage& message);
// <|channel|>analysis, commentary or final (gpt-oss).
void parse_harmony(const Answer& answer, AssistantMessage& message);

// --- what they share

// Takes the reasoning out of the answer's text and gives the rest.
[[nodiscard]] std::string_view take_reasoning(
    const Answer& answer, AssistantMessage& message);

// A part of `text` between two markers.
struct Block {
  std::string_view whole;  // with the markers
  std::string_view inner;
  bool closed = true;  // false: the text ends before the second marker
};

// The first block of `text`.
[[nodiscard]] std::optional<Block> find_block(
    std::string_view text, std::string_view begin, std::string_view end);

// A JSON value; nothing where the text is none or nests deeper than any real one, since
// what handles it later recurses.
[[nodiscard]] std::optional<Json> try_parse_json(std::string_view text);

// The same, where it is an object.
[[nodiscard]] std::optional<Json> try_parse_object(std::string_view text);

// {"name": ..., `arguments_key`: {...}}; arguments may also be their JSON text.
[[nodiscard]] std::optional<ToolCall> try_read_call(
    const Json& json, std::string_view arguments_key);

// Reads the blocks of `text` as calls; what is between them is content, and so is a block
// that `read` cannot read, which sets the flag.
void read_blocks(
    std::string_view text,
    std::string_view begin,
    std::string_view end,
    std::optional<ToolCall> (*read)(std::string_view inner),
    AssistantMessage& message);

// Line ends of the template's layout around the content of a message with calls.
void trim_content(AssistantMessage& message);

}  // namespace titan::text::chat
