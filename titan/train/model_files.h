#pragma once

#include "titan/base/files.h"
#include "titan/models/common/causal_lm.h"
#include "titan/text/tokenizer.h"
#include "titan/train/config.h"

namespace titan::train {

// The run's tokenizer: data.tokenizer, else the one in model.path. ConfigError when
// neither is set.
[[nodiscard]] text::Tokenizer open_tokenizer(const TrainConfig& config);

// Puts config.json and the tokenizer's files into `folder`, so that checkpoints of the
// run can be exported and generated from without what it was started from.
void store_model_files(
    const TrainConfig& config, const models::CausalLm& model, const fs::path& folder);

}  // namespace titan::train
