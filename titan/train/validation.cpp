#include "titan/train/validation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "titan/data/loader.h"
#include "titan/train/step.h"

namespace titan::train {

ValidationResult validate(
    models::CausalLm& model,
    const TrainConfig& config,
    const text::Tokenizer& tokenizer) {
  const at::NoGradGuard no_grad;
  data::DataConfig data = config.data;
  data.sources = config.validation.sources;
  data.shuffle = false;
  data.epochs = 1;
  data::Loader loader(
      data,
      {.tokens_per_microbatch = config.train.tokens_per_microbatch,
       .context = config.train.context,
       .vocab_size = model.facts().vocab},
      tokenizer);
  ValidationResult result;
  const int64_t limit = config.validation.batches;
  for (int64_t i = 0; limit == 0 || i < limit; ++i) {
    const std::optional<data::Batch> batch = loader.next();
    if (!batch) {
      break;
    }
    result.loss -= sum_logprobs(model, *batch).sum;
    result.num_targets += count_targets(*batch);
  }
  result.loss /= static_cast<double>(std::max<int64_t>(result.num_targets, 1));
  return result;
}

}  // namespace titan::train
