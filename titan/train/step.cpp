#include "titan/train/step.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace titan::train {
namespace {

Tensor to_tensor(const std::vector<int64_t>& values) {
  return at::tensor(at::IntArrayRef(values), at::kLong);
}

}  // namespace

int64_t count_targets(const data::Batch& batch) {
  return std::count_if(batch.labels.begin(), batch.labels.end(), [](int64_t label) {
    return label != data::kNoLabel;
  });
}

LogprobSum sum_logprobs(models::CausalLm& model, const data::Batch& batch) {
  const Tensor logprobs = model.target_logprobs(
      to_tensor(batch.tokens),
      to_tensor(batch.labels),
      ops::SequenceContext::packed(batch.document_lengths));
  // One fixed order, whatever the number of threads.
  const auto* values = logprobs.const_data_ptr<float>();
  return {logprobs, std::accumulate(values, values + logprobs.numel(), 0.0)};
}

StepLoss accumulate_gradients(
    models::CausalLm& model, const std::vector<data::Batch>& microbatches) {
  StepLoss step;
  for (const data::Batch& batch : microbatches) {
    step.num_targets += count_targets(batch);
  }
  if (step.num_targets == 0) {
    return step;
  }
  const double scale = 1.0 / static_cast<double>(step.num_targets);
  for (const data::Batch& batch : microbatches) {
    if (count_targets(batch) == 0) {
      continue;
    }
    const LogprobSum result = sum_logprobs(model, batch);
    step.loss -= result.sum * scale;
    const Tensor gradient = at::full_like(result.logprobs, -scale);
    torch::autograd::backward({result.logprobs}, {gradient});
  }
  return step;
}

}  // namespace titan::train
