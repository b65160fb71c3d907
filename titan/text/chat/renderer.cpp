#include "titan/text/chat/renderer.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/chat/answer_format.h"
#include "titan/text/chat/conversation.h"
#include "titan/text/chat/renderer_state.h"
#include "titan/text/chat/tokenized_text.h"

namespace titan::text::chat {
namespace {

using jinja::Run;

const std::string& chosen_template(
    const Tokenizer& tokenizer, const RendererOptions& options) {
  const std::string& source =
      options.chat_template.empty() ? tokenizer.chat_template() : options.chat_template;
  if (source.empty()) {
    fail<InputError>("{}: there is no chat template", tokenizer.name());
  }
  return source;
}

void check_options(const RenderOptions& options, size_t num_messages) {
  if (options.add_generation_prompt && options.continue_final_message) {
    fail<InputError>(
        "add_generation_prompt and continue_final_message exclude each other");
  }
  if (options.continue_final_message && num_messages == 0) {
    fail<InputError>("continue_final_message: there is no message");
  }
}

// Ends the text with the last byte that message `index` wrote.
void cut_after_message(jinja::Output& output, size_t index) {
  const auto source = static_cast<uint32_t>(kFirstMessageSource + index);
  auto& runs = output.runs;
  while (!runs.empty() && runs.back().mark.source != source) {
    runs.pop_back();
  }
  if (runs.empty()) {
    fail<InputError>(
        "continue_final_message: the template does not write messages[{}]", index);
  }
  output.text.resize(runs.back().end);
}

// The assistant messages that spans are wanted of.
std::vector<size_t> wanted_messages(
    const Conversation& conversation, AssistantSpans wanted) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < conversation.size(); ++i) {
    if (conversation.is_assistant(i)) {
      indices.push_back(i);
    }
  }
  if (indices.empty()) {
    fail<InputError>("assistant spans: there is no assistant message");
  }
  if (wanted == AssistantSpans::kLast) {
    indices.erase(indices.begin(), indices.end() - 1);
  }
  return indices;
}

}  // namespace

std::string_view origin_name(Origin origin) {
  constexpr std::string_view kNames[] = {
      "template", "system", "user", "assistant", "tool"};
  return kNames[static_cast<size_t>(origin)];
}

Renderer::State::State(Tokenizer used_tokenizer, const RendererOptions& options)
    : tokenizer(std::move(used_tokenizer)),
      chat_template(chosen_template(tokenizer, options), "chat_template"),
      format(
          options.answer_format.empty()
              ? recognise_answer_format(chosen_template(tokenizer, options), tokenizer)
              : find_answer_format(options.answer_format)),
      format_name(format.name),
      turn_end_ids(find_turn_end_ids(tokenizer)),
      fixed_time(options.fixed_time) {
  const std::optional<int32_t> part_end = tokenizer.token_id(format.part_end);
  std::ranges::copy_if(turn_end_ids, std::back_inserter(stop_ids), [&](int32_t id) {
    return id != part_end;
  });
  const auto add = [&](const char* name, std::optional<int32_t> id) {
    if (id) {
      special_tokens.emplace_back(name, tokenizer.piece(*id));
    }
  };
  const std::vector<int32_t>& eos = tokenizer.eos_ids();
  add("bos_token", tokenizer.bos_id());
  add("eos_token", eos.empty() ? std::nullopt : std::optional(eos.front()));
  add("pad_token", tokenizer.pad_id());
}

jinja::Output Renderer::State::print(
    Conversation& conversation, size_t count, bool add_generation_prompt) const {
  std::vector<jinja::Variable> variables = conversation.variables(count);
  variables.push_back({"add_generation_prompt", jinja::Value(add_generation_prompt)});
  jinja::Arena arena;
  for (const auto& [name, text] : special_tokens) {
    variables.push_back({name, jinja::make_string(arena, text)});
  }
  return chat_template.render(
      variables, fixed_time < 0 ? std::time(nullptr) : fixed_time);
}

Turn Renderer::State::find_turn(
    Conversation& conversation, size_t index, const TokenizedText& whole) const {
  return chat::find_turn(
      whole,
      index,
      print(conversation, index, true),
      print(conversation, index + 1, false),
      turn_end_ids);
}

std::vector<TokenRange> Renderer::State::find_spans(
    Conversation& conversation,
    const TokenizedText& whole,
    const RenderOptions& options) const {
  const std::vector<size_t> indices =
      wanted_messages(conversation, options.assistant_spans);
  std::vector<TokenRange> spans;
  if (chat_template.has_generation()) {
    const bool only_last = options.assistant_spans == AssistantSpans::kLast;
    spans =
        generation_spans(whole, only_last ? std::optional(indices.back()) : std::nullopt);
    if (spans.empty()) {
      fail<InputError>(
          "assistant spans: the template marks nothing in this conversation");
    }
    return spans;
  }
  for (const size_t index : indices) {
    const Turn turn = find_turn(conversation, index, whole);
    if (!turn.refusal.empty()) {
      fail<InputError>("assistant spans: {}", turn.refusal);
    }
    spans.push_back(turn.tokens);
  }
  return spans;
}

Renderer::Renderer(Tokenizer tokenizer, const RendererOptions& options)
    : state_(std::make_shared<const State>(std::move(tokenizer), options)) {}

Rendering Renderer::render(
    const Json& messages, const Json& tools, const RenderOptions& options) const {
  Conversation conversation(messages, tools, options.variables);
  check_options(options, conversation.size());
  jinja::Output output =
      state_->print(conversation, conversation.size(), options.add_generation_prompt);
  if (options.continue_final_message) {
    cut_after_message(output, conversation.size() - 1);
  }
  TokenizedText whole = tokenize_output(
      state_->tokenizer, std::move(output), options.parse_special_in_content);
  Rendering rendering;
  for (const uint32_t source : whole.sources()) {
    rendering.origins.push_back(conversation.origin(source));
  }
  if (options.assistant_spans != AssistantSpans::kNone) {
    rendering.assistant_spans = state_->find_spans(conversation, whole, options);
  }
  rendering.text = std::move(whole.text);
  rendering.ids = std::move(whole.ids);
  return rendering;
}

AssistantMessage Renderer::parse(
    std::span<const int32_t> answer,
    std::span<const int32_t> prompt,
    const Json& tools) const {
  AssistantMessage message;
  const auto stop = std::ranges::find_first_of(answer, state_->stop_ids);
  message.ended = stop != answer.end();
  const std::string text = state_->tokenizer.decode({answer.begin(), stop});
  state_->format.parse(
      {text, state_->ends_in_reasoning(prompt), tools.is_null() ? nullptr : &tools},
      message);
  return message;
}

bool Renderer::State::ends_in_reasoning(std::span<const int32_t> prompt) const {
  // A generation prompt is short; what is before its last tokens is a finished turn.
  constexpr size_t kTail = 16;
  const std::string text = tokenizer.decode(prompt.last(std::min(prompt.size(), kTail)));
  for (const auto& [begin, end] :
       {std::pair("<think>", "</think>"), std::pair("[THINK]", "[/THINK]")}) {
    const size_t opened = text.rfind(begin);
    if (opened != text.npos && text.find(end, opened) == text.npos) {
      return true;
    }
  }
  return false;
}

const std::vector<int32_t>& Renderer::stop_ids() const {
  return state_->stop_ids;
}

const std::string& Renderer::answer_format() const {
  return state_->format_name;
}

const Tokenizer& Renderer::tokenizer() const {
  return state_->tokenizer;
}

}  // namespace titan::text::chat
