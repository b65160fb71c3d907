#pragma once
// A GGUF language model as a Hugging Face model: config.json, tensors under their Hugging
// Face names and layouts, and the tokenizer's raw metadata.

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/hf_export.h"

namespace titan::checkpoint {

// tokenizer.* of the metadata, as stored. Absent lists are empty, absent texts "".
struct GgufTokenizer {
  std::string model;  // "gpt2" is byte-level BPE, "llama" SentencePiece
  std::string pre;    // name of the split pattern, e.g. "smollm"
  std::vector<std::string> tokens;
  std::vector<int64_t>
      token_types;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 6 byte
  std::vector<std::string> merges;  // "left right"
  std::optional<int64_t> bos_id;
  std::optional<int64_t> eos_id;
  std::optional<int64_t> unknown_id;
  std::optional<int64_t> padding_id;
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;
  std::string chat_template;
};

struct GgufModel {
  Json config;                        // the content of config.json
  std::vector<TensorSource> tensors;  // sources share the file's memory map
  GgufTokenizer tokenizer;
};

// Opens a GGUF file of architecture "llama" or "qwen3" (dense); the tensors load in
// `dtype` (kFloat or kBFloat16). Throws InputError for another architecture, FormatError
// where metadata or tensors are missing, superfluous or of the wrong shape.
[[nodiscard]] GgufModel open_gguf_model(const fs::path& path, at::ScalarType dtype);

}  // namespace titan::checkpoint
