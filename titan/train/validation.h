#pragma once

#include <cstdint>

#include "titan/models/common/causal_lm.h"
#include "titan/text/tokenizer.h"
#include "titan/train/config.h"

namespace titan::train {

struct ValidationResult {
  double loss = 0;  // sum of cross-entropies / targets, nats
  int64_t num_targets = 0;
};

// The mean loss over the held-out documents: in their order, once, without gradients.
// REQUIRES: config.validation.sources is not empty.
[[nodiscard]] ValidationResult validate(
    models::CausalLm& model, const TrainConfig& config, const text::Tokenizer& tokenizer);

}  // namespace titan::train
