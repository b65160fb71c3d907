#pragma once
// Parameters to and from Hugging Face folders.

#include <functional>
#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/checkpoint/hf_export.h"
#include "titan/checkpoint/hf_folder.h"
#include "titan/models/common/causal_lm.h"

namespace titan::models {

// The files of a Hugging Face tokenizer, as they lie beside config.json.
inline constexpr const char* kTokenizerFiles[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja"};

// Tensors under Hugging Face's names, from a folder or a GGUF file.
struct StoredTensors {
  std::string where;  // for messages
  std::vector<std::string> names;
  std::function<at::Tensor(const std::string& name)> tensor;  // throws when it is missing
};

[[nodiscard]] StoredTensors stored_tensors(const checkpoint::HfFolder& folder);
[[nodiscard]] StoredTensors stored_tensors(
    const std::vector<checkpoint::TensorSource>& sources, const std::string& where);

// Copies every parameter from the stored tensors into the materialised model, converting
// to fp32. InputError or FormatError names missing and unexpected tensors and wrong
// shapes; nothing is skipped silently. Tied embeddings may be stored under either name;
// when both are there and differ, they are refused.
void load_weights(CausalLm& model, const StoredTensors& stored);

// The model's parameters as tensors of a Hugging Face folder in `dtype`.
[[nodiscard]] std::vector<checkpoint::TensorSource> export_weights(
    const CausalLm& model, at::ScalarType dtype);

// config.json of the model: the fields of its architecture over those of `source` (the
// config.json that it came from; may be null), so that ids and unknown fields are kept.
[[nodiscard]] Json export_config(
    const CausalLm& model, const Json& source, at::ScalarType dtype);

}  // namespace titan::models
