#include "titan/text/chat/answer_format.h"

#include <algorithm>

#include "titan/base/error.h"
#include "titan/base/nearest.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/chat/tool_calls.h"

namespace titan::text::chat {
namespace {

// More special ones first: the markers of one may be in templates of another.
constexpr AnswerFormat kFormats[] = {
    {"harmony", {"<|channel|>", "<|message|>"}, parse_harmony, "<|end|>"},
    {"kimi_k2", {"<|tool_calls_section_begin|>", ""}, parse_kimi_k2},
    {"deepseek_v3", {"<｜tool▁sep｜>", "```json"}, parse_deepseek_v3},
    {"deepseek_v31", {"<｜tool▁sep｜>", ""}, parse_deepseek_v31},
    {"mistral", {"[TOOL_CALLS]", ""}, parse_mistral},
    {"qwen3_coder", {"<function=", "<parameter="}, parse_qwen3_coder},
    {"hermes", {"<tool_call>", ""}, parse_hermes},
    {"llama3_json", {"<|start_header_id|>", "\"parameters\": "}, parse_llama3_json},
    {"plain", {"", ""}, parse_plain},
};

constexpr std::string_view kTurnEnds[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|assistant_end|>",
    "<|end_of_msg|>",
    "<end_of_turn>",
    "<turn|>",
    "[e~[",
    "<｜end▁of▁sentence｜>",
    "</s>"};

template <class Has>
const AnswerFormat* find_by_markers(Has&& has) {
  for (const AnswerFormat& format : kFormats) {
    if (!format.markers[0].empty() && std::ranges::all_of(format.markers, has)) {
      return &format;
    }
  }
  return nullptr;
}

}  // namespace

const AnswerFormat& find_answer_format(const std::string& name) {
  const auto found = std::ranges::find(kFormats, name, &AnswerFormat::name);
  if (found == std::end(kFormats)) {
    fail<InputError>(
        "no answer format is called \"{}\"; did you mean \"{}\"?",
        name,
        nearest_name(name, answer_format_names()));
  }
  return *found;
}

const AnswerFormat& recognise_answer_format(
    const std::string& chat_template, const Tokenizer& tokenizer) {
  const AnswerFormat* format = find_by_markers([&](std::string_view marker) {
    return chat_template.find(marker) != std::string::npos;
  });
  if (format == nullptr) {
    format = find_by_markers([&](std::string_view marker) {
      return marker.empty() || tokenizer.token_id(marker).has_value();
    });
  }
  return format != nullptr ? *format : *(std::end(kFormats) - 1);
}

std::vector<int32_t> find_turn_end_ids(const Tokenizer& tokenizer) {
  std::vector<int32_t> ids = tokenizer.eos_ids();
  for (const std::string_view spelling : kTurnEnds) {
    const std::optional<int32_t> id = tokenizer.token_id(spelling);
    if (id && std::ranges::find(ids, *id) == ids.end()) {
      ids.push_back(*id);
    }
  }
  return ids;
}

std::vector<std::string> answer_format_names() {
  std::vector<std::string> names;
  for (const AnswerFormat& format : kFormats) {
    names.emplace_back(format.name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace titan::text::chat
