#pragma once

#include <memory>
#include <optional>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/gguf_import.h"
#include "titan/models/common/causal_lm.h"

namespace titan::models {

// A model from the disk, with its weights.
struct OpenedModel {
  std::unique_ptr<CausalLm> model;
  Json hugging_face;  // its config.json
  fs::path files;     // the folder that holds the tokenizer's files; empty for GGUF
  std::optional<checkpoint::GgufTokenizer> gguf_tokenizer;
};

// Opens a Hugging Face folder, a run folder (its newest complete checkpoint), one
// checkpoint of a run, or a GGUF file. InputError when `path` is none of these.
[[nodiscard]] OpenedModel open_model(
    const fs::path& path, const CausalLmOptions& options);

}  // namespace titan::models
