#include "titan/generate/generator.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "titan/base/error.h"

namespace titan::generate {
namespace {

void check_prompt(
    const models::ModelFacts& facts,
    const std::vector<int64_t>& prompt,
    int64_t max_tokens) {
  if (prompt.empty()) {
    throw InputError("prompt: expected at least one token, got none");
  }
  for (const int64_t token : prompt) {
    if (token < 0 || token >= facts.vocab) {
      fail<InputError>(
          "prompt: token {} is not in the model's vocabulary of {}", token, facts.vocab);
    }
  }
  const auto needed = static_cast<int64_t>(prompt.size()) + max_tokens;
  if (needed > facts.context) {
    fail<InputError>(
        "prompt: {} tokens and {} new ones are more than the model's {} positions",
        prompt.size(),
        max_tokens,
        facts.context);
  }
}

// Logits of the last of `tokens`, which stand at `position` and behind of the only
// sequence.
at::Tensor next_logits(
    models::CausalLm& model,
    const std::vector<int64_t>& tokens,
    int64_t position,
    nn::KvCache& cache) {
  const auto length = static_cast<int64_t>(tokens.size());
  const ops::SequenceContext sequence{
      {{.query_begin = 0, .query_length = length, .position = position, .key_begin = 0}}};
  return model.logits(
      at::tensor(at::IntArrayRef(tokens), at::kLong),
      sequence,
      &cache,
      at::tensor({length - 1}, at::kLong));
}

}  // namespace

Generated generate(
    models::CausalLm& model,
    const std::vector<int64_t>& prompt,
    const GenerateOptions& options,
    const std::function<void(int64_t token)>& on_token) {
  check_prompt(model.facts(), prompt, options.max_tokens);
  auto position = static_cast<int64_t>(prompt.size());
  nn::KvCache cache = model.make_cache(position + options.max_tokens);
  Generated result;
  at::Tensor logits = next_logits(model, prompt, 0, cache);
  for (int64_t i = 0; i < options.max_tokens; ++i) {
    const Sample next = sample(
        {logits.const_data_ptr<float>(), static_cast<size_t>(logits.numel())},
        options.sampling,
        position);
    result.tokens.push_back(next.token);
    result.logprobs.push_back(next.logprob);
    on_token(next.token);
    const bool ended =
        std::find(options.end_tokens.begin(), options.end_tokens.end(), next.token) !=
        options.end_tokens.end();
    if (ended || i + 1 == options.max_tokens) {
      break;
    }
    logits = next_logits(model, {next.token}, position, cache);
    ++position;
  }
  return result;
}

}  // namespace titan::generate
