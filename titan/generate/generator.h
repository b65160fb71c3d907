#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "titan/generate/sampler.h"
#include "titan/models/common/causal_lm.h"

namespace titan::generate {

struct GenerateOptions {
  SamplingConfig sampling;
  int64_t max_tokens = 128;  // new tokens at most
  std::vector<int32_t>
      end_tokens;  // one of these ends the text and is part of the result
};

struct Generated {
  std::vector<int64_t> tokens;
  std::vector<float> logprobs;  // of each token, under the distribution it was drawn from
};

// Continues one prompt token by token over a KV cache, with the forward that trains the
// model. `on_token` is called with each token as it is drawn. InputError for an empty
// prompt, ids that the model does not have, or more tokens than it has positions.
[[nodiscard]] Generated generate(
    models::CausalLm& model,
    const std::vector<int64_t>& prompt,
    const GenerateOptions& options,
    const std::function<void(int64_t token)>& on_token);

}  // namespace titan::generate
