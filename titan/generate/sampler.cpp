#include "titan/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "titan/base/rng.h"

namespace titan::generate {
namespace {

struct Candidate {
  int64_t token;
  double logit;   // divided by the temperature
  double weight;  // exp(logit - largest logit)
};

bool more_probable(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// log sum exp of all logits / temperature.
double log_normalizer(std::span<const float> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp((logit - largest) / temperature);
  }
  return largest / temperature + std::log(sum);
}

Sample greedy(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  return {
      .token = best - logits.begin(),
      .logprob = static_cast<float>(*best - log_normalizer(logits, 1.0))};
}

}  // namespace

Sample sample(
    std::span<const float> logits, const SamplingConfig& config, int64_t position) {
  if (config.temperature == 0) {
    return greedy(logits);
  }
  std::vector<Candidate> candidates(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates[i] = {static_cast<int64_t>(i), logits[i] / config.temperature, 0};
  }
  if (config.top_k > 0 && static_cast<size_t>(config.top_k) < candidates.size()) {
    const auto end = candidates.begin() + config.top_k;
    std::nth_element(candidates.begin(), end - 1, candidates.end(), more_probable);
    candidates.erase(end, candidates.end());
  }
  std::sort(candidates.begin(), candidates.end(), more_probable);
  double total = 0;
  for (Candidate& candidate : candidates) {
    candidate.weight = std::exp(candidate.logit - candidates.front().logit);
    total += candidate.weight;
  }
  if (config.top_p < 1) {
    double kept = 0;
    size_t count = 0;
    while (count < candidates.size() && kept < config.top_p * total) {
      kept += candidates[count++].weight;
    }
    candidates.resize(std::max<size_t>(count, 1));
    total = kept;
  }
  const double wanted = Rng(static_cast<uint64_t>(config.seed), "sample")
                            .uniform_at(static_cast<uint64_t>(position)) *
                        total;
  double passed = 0;
  const Candidate* chosen = &candidates.back();
  for (const Candidate& candidate : candidates) {
    passed += candidate.weight;
    if (wanted < passed) {
      chosen = &candidate;
      break;
    }
  }
  return {
      .token = chosen->token,
      .logprob = static_cast<float>(std::log(chosen->weight / total))};
}

}  // namespace titan::generate
