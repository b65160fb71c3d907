#pragma once
// The tokenizer that a GGUF file carries in its metadata, as Hugging Face files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

// The tokenizer.* keys of a GGUF file.
struct GgufTokenizerMetadata {
  // tokenizer.ggml.model: "gpt2" is byte-level BPE, "llama" SentencePiece's BPE.
  std::string model;
  std::string pre;                   // tokenizer.ggml.pre, which split pattern; of "gpt2"
  std::vector<std::string> tokens;   // by id
  std::vector<int32_t> token_types;  // by id: 1 normal, 3 control, 4 user defined, ...
  std::vector<std::string> merges;   // "left right", best first; of "gpt2"
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
  std::optional<int32_t> unk_id;
  std::optional<int32_t> pad_id;
  bool add_bos = false;
  bool add_space_prefix = false;
  std::string chat_template = "";  // empty: none
  std::vector<float> scores = {};  // by id; of "llama"
};

// A complete tokenizer.json. FormatError: a `model` or `pre` that is not known (named
// with those that are), lists of different lengths, ids out of range.
[[nodiscard]] Json tokenizer_json_from_gguf(const GgufTokenizerMetadata& metadata);

// The tokenizer_config.json beside it: special tokens by name and the chat template.
[[nodiscard]] Json tokenizer_config_from_gguf(const GgufTokenizerMetadata& metadata);

}  // namespace titan::text
