#pragma once
// Conversations to token ids through a model's chat template, and the model's answers
// back to messages.
//
// Messages are JSON in the OpenAI chat schema: an array of objects with "role", "content"
// (a string, null, or a list of {"type": "text", "text": ...} parts), and as needed
// "reasoning_content", "name", "tool_call_id" and "tool_calls" [{"id", "type":
// "function", "function": {"name", "arguments"}}]. "arguments" is a JSON text or an
// object; the template gets an object with its members in order. Further members reach
// the template as they are. `tools` is null or an array of tool definitions.
//
// Safe content: the text of messages and tools never becomes an added token, whatever it
// spells; only what the template itself writes does. Apart from that the ids are those
// of the whole rendered text: merges go across the borders of messages.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/chat/message.h"
#include "titan/text/tokenizer.h"

namespace titan::text::chat {

// Who wrote the text that a token stands for.
enum class Origin : uint8_t {
  kTemplate,   // the chat template: markers, headers, its own wording
  kSystem,     // system and developer messages, tool definitions, template variables
  kUser,       // user messages, and messages of a role that is not known
  kAssistant,  // assistant messages: content, reasoning, tool calls
  kTool        // results of tools
};

// "template", "system", "user", "assistant", "tool".
[[nodiscard]] std::string_view origin_name(Origin origin);

// Tokens [begin, end) of a rendering.
struct TokenRange {
  size_t begin = 0;
  size_t end = 0;

  bool operator==(const TokenRange&) const = default;
};

enum class AssistantSpans {
  kNone,  // not wanted
  kLast,  // of the last assistant message only
  kAll    // of every assistant message
};

struct RenderOptions {
  // End with the header that makes the model answer.
  bool add_generation_prompt = false;
  // End right after the text of the last message, so that the model goes on with it.
  bool continue_final_message = false;
  // Let the text of messages become added tokens, as plain encoding of the rendered text
  // does. For trusted data only.
  bool parse_special_in_content = false;
  AssistantSpans assistant_spans = AssistantSpans::kNone;
  // Further template variables, e.g. {"enable_thinking": false}.
  Json variables = Json::object();
};

struct Rendering {
  std::string text;
  std::vector<int32_t> ids;
  // For each id the origin of the first of its bytes that a message wrote, else
  // kTemplate. Always ids.size() entries.
  std::vector<Origin> origins;
  // What the model writes when it answers, with the token that ends its turn where it has
  // one: ascending, disjoint, neighbours not merged. Empty unless asked for.
  std::vector<TokenRange> assistant_spans;
};

// The ids that continue a conversation, or why they cannot be had.
struct Bridge {
  std::vector<int32_t> ids;
  std::string refusal;  // empty: allowed

  explicit operator bool() const { return refusal.empty(); }
};

struct RendererOptions {
  // The template in place of the tokenizer's own.
  std::string chat_template;
  // How answers are written, by name (answer_format_names()); empty: found out from the
  // template and the vocabulary.
  std::string answer_format;
  // The seconds since 1970 that strftime_now() shows; negative: the time of the call.
  int64_t fixed_time = -1;
};

// Immutable, cheap to copy; all methods may be called from several threads at once.
class Renderer {
 public:
  // InputError where there is no template; FormatError with line and column where the
  // template uses what titan does not support.
  explicit Renderer(Tokenizer tokenizer, const RendererOptions& options = {});

  // Messages to ids. The template writes all special tokens, BOS too; the tokenizer's
  // post-processor adds nothing.
  // InputError names the message and field that does not fit the schema, or gives the
  // template's own refusal. Where assistant spans are asked for: InputError where there
  // is no assistant message, or where a span cannot be told (see docs/chat_templates.md).
  [[nodiscard]] Rendering render(
      const Json& messages,
      const Json& tools = nullptr,
      const RenderOptions& options = {}) const;

  // An answer's ids, without the prompt, to a message. Never throws on what a model may
  // write: a tool call that is none stays in `content`, with a flag. `prompt` are the ids
  // before it where known: a template may open the reasoning in its generation prompt.
  // `tools` give the types of arguments where a format has none.
  // InputError names an id that is not a token.
  [[nodiscard]] AssistantMessage parse(
      std::span<const int32_t> answer,
      std::span<const int32_t> prompt = {},
      const Json& tools = nullptr) const;

  // The ids to append to prompt + answer so that the conversation goes on with
  // `new_messages` (user, tool or system) and ends with a generation prompt: what was
  // sampled stays as it is, and where `answer` lacks the token that ends a turn it comes
  // first. Refused where the template rewrites or moves earlier turns when a message
  // follows, so that no extension says what the template would.
  // InputError as in render().
  [[nodiscard]] Bridge bridge(
      std::span<const int32_t> prompt,
      std::span<const int32_t> answer,
      const Json& new_messages,
      const Json& tools = nullptr,
      const RenderOptions& options = {}) const;

  // Ids after which a model's turn is over: the tokenizer's EOS ids and the end-of-turn
  // tokens of the answer format.
  [[nodiscard]] const std::vector<int32_t>& stop_ids() const;

  [[nodiscard]] const std::string& answer_format() const;
  [[nodiscard]] const Tokenizer& tokenizer() const;

 private:
  struct State;

  std::shared_ptr<const State> state_;
};

// The answer formats that titan knows, sorted.
[[nodiscard]] std::vector<std::string> answer_format_names();

}  // namespace titan::text::chat
