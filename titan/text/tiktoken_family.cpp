#include "titan/text/tiktoken_family.h"

#include "titan/base/error.h"
#include "titan/text/split_patterns.h"

namespace titan::text {
namespace {

using Tokens = std::vector<std::string>;

void append(Tokens& tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

// `prefix` with the numbers `first` .. `last` - 1, as "<|prefix_7|>".
void append_numbered(Tokens& tokens, const char* prefix, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    tokens.push_back(fmt::format("<|{}_{}|>", prefix, i));
  }
}

// llama_models/llama3/tokenizer.py: 256 in all.
Tokens llama3_tokens() {
  Tokens tokens{
      "<|begin_of_text|>",
      "<|end_of_text|>",
      "<|reserved_special_token_0|>",
      "<|reserved_special_token_1|>",
      "<|finetune_right_pad_id|>",
      "<|step_id|>",
      "<|start_header_id|>",
      "<|end_header_id|>",
      "<|eom_id|>",
      "<|eot_id|>",
      "<|python_tag|>",
      "<|image|>"};
  append_numbered(tokens, "reserved_special_token", 2, 246);
  return tokens;
}

// llama_models/llama4/tokenizer.py: 2048 in all.
Tokens llama4_tokens() {
  constexpr size_t kCount = 2048;
  Tokens tokens{
      "<|begin_of_text|>",
      "<|end_of_text|>",
      "<|fim_prefix|>",
      "<|fim_middle|>",
      "<|fim_suffix|>",
      "<|header_start|>",
      "<|header_end|>",
      "<|eom|>",
      "<|eot|>",
      "<|step|>"};
  append_numbered(tokens, "text_post_train_reserved_special_token", 0, 6);
  append(tokens, {"<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"});
  append_numbered(tokens, "text_post_train_reserved_special_token", 8, 69);
  append(tokens, {"<|image_start|>", "<|image_end|>"});
  append_numbered(tokens, "vision_reserved_special_token", 0, 2);
  append(tokens, {"<|tile_x_separator|>", "<|tile_y_separator|>"});
  append_numbered(tokens, "vision_reserved_special_token", 2, 6);
  append(tokens, {"<|image|>", "<|vision_reserved_special_token_6|>", "<|patch|>"});
  append_numbered(tokens, "vision_reserved_special_token", 7, 1048);
  append_numbered(tokens, "reasoning_reserved_special_token", 0, 8);
  append(tokens, {"<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"});
  append_numbered(tokens, "reserved_special_token", 0, kCount - tokens.size());
  return tokens;
}

// Qwen's tokenization_qwen.py.
Tokens qwen_tokens() {
  Tokens tokens{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  append_numbered(tokens, "extra", 0, 205);
  return tokens;
}

Tokens qwen35_tokens() {
  return {
      "<|endoftext|>",
      "<|im_start|>",
      "<|im_end|>",
      "<|object_ref_start|>",
      "<|object_ref_end|>",
      "<|box_start|>",
      "<|box_end|>",
      "<|quad_start|>",
      "<|quad_end|>",
      "<|vision_start|>",
      "<|vision_end|>",
      "<|vision_pad|>",
      "<|image_pad|>",
      "<|video_pad|>",
      "<tool_call>",
      "</tool_call>",
      "<|fim_prefix|>",
      "<|fim_middle|>",
      "<|fim_suffix|>",
      "<|fim_pad|>",
      "<|repo_name|>",
      "<|file_sep|>",
      "<tool_response>",
      "</tool_response>",
      "<think>",
      "</think>",
      "<|audio_start|>",
      "<|audio_end|>",
      "<tts_pad>",
      "<tts_text_bos>",
      "<tts_text_eod>",
      "<tts_text_bos_single>",
      "<|audio_pad|>"};
}

// Kimi's tokenization_kimi.py; the tokenizer_config.json names those in use.
Tokens kimi_tokens() {
  Tokens tokens;
  append_numbered(tokens, "reserved_token", 163584, 163840);
  return tokens;
}

const std::vector<TiktokenFamily>& families() {
  static const std::vector<TiktokenFamily> known{
      {.name = "Llama 3",
       .num_ranks = 128000,
       .pattern = kLlama3Pattern,
       .nfc = false,
       .special_tokens = llama3_tokens,
       .bos = "<|begin_of_text|>",
       .pad = "<|finetune_right_pad_id|>",
       .eos = {"<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"}},
      {.name = "Llama 4",
       .num_ranks = 200000,
       .pattern = kO200kPattern,
       .nfc = false,
       .special_tokens = llama4_tokens,
       .bos = "<|begin_of_text|>",
       .pad = "<|finetune_right_pad|>",
       .eos = {"<|end_of_text|>", "<|eom|>", "<|eot|>"}},
      {.name = "Qwen",
       .num_ranks = 151643,
       .pattern = kQwen2Pattern,
       .nfc = true,
       .special_tokens = qwen_tokens,
       .bos = "",
       .pad = "<|endoftext|>",
       .eos = {"<|im_end|>", "<|endoftext|>"}},
      {.name = "Qwen 3.5",
       .num_ranks = 248044,
       .pattern = kQwen35Pattern,
       .nfc = true,
       .special_tokens = qwen35_tokens,
       .bos = "",
       .pad = "<|endoftext|>",
       .eos = {"<|im_end|>", "<|endoftext|>"}},
      {.name = "Kimi K2",
       .num_ranks = 163584,
       .pattern = kKimiPattern,
       .nfc = false,
       .special_tokens = kimi_tokens,
       .bos = "",
       .pad = "",
       .eos = {}}};
  return known;
}

}  // namespace

const TiktokenFamily& find_tiktoken_family(size_t num_ranks, const std::string& name) {
  std::vector<std::string> known;
  for (const TiktokenFamily& family : families()) {
    if (family.num_ranks == num_ranks) {
      return family;
    }
    known.push_back(fmt::format("{} {}", family.name, family.num_ranks));
  }
  fail<FormatError>(
      "{}: a tiktoken file of {} ranks is not supported (known: {})",
      name,
      num_ranks,
      fmt::join(known, ", "));
}

}  // namespace titan::text
