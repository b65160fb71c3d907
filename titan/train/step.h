#pragma once
// The arithmetic of one optimizer step.

#include <cstdint>
#include <vector>

#include "titan/data/batch.h"
#include "titan/models/common/causal_lm.h"

namespace titan::train {

using at::Tensor;

// Positions of a batch that have a target.
[[nodiscard]] int64_t count_targets(const data::Batch& batch);

struct LogprobSum {
  Tensor logprobs;  // fp32 [T], differentiable where grad mode is on
  double sum;       // of all targets, added in double
};

// The log-probabilities of a batch's targets.
[[nodiscard]] LogprobSum sum_logprobs(models::CausalLm& model, const data::Batch& batch);

struct StepLoss {
  double loss = 0;  // sum of cross-entropies / targets of the whole step, nats
  int64_t num_targets = 0;
};

// Adds the gradient of the step's loss to the parameter store: the sum over all targets
// of all micro-batches, divided by their number, which is counted before. So the result
// does not depend on how the tokens are split. Micro-batches without a target are
// skipped.
[[nodiscard]] StepLoss accumulate_gradients(
    models::CausalLm& model, const std::vector<data::Batch>& microbatches);

}  // namespace titan::train
