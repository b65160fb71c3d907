#pragma once

#include <cstdint>
#include <span>

namespace titan::generate {

// How the next token is drawn. temperature 0 is greedy: the first of the largest logits.
struct SamplingConfig {
  double temperature = 0;
  int64_t top_k = 0;  // 0: all tokens
  double top_p =
      1;  // the smallest set of tokens whose probabilities sum to at least this
  int64_t seed = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("temperature", self.temperature, "0: greedy");
    visit("top_k", self.top_k, "draw from the k most probable tokens; 0: from all");
    visit("top_p", self.top_p, "draw from the fewest tokens with this probability");
    visit("seed", self.seed, "of the draws");
  }

  template <class Problems>
  static void check(const SamplingConfig& self, Problems& problems) {
    problems.expect(self.temperature >= 0, "temperature", ">= 0", self.temperature);
    problems.expect(self.top_k >= 0, "top_k", ">= 0", self.top_k);
    problems.expect(
        self.top_p > 0 && self.top_p <= 1, "top_p", "within 0 and 1", self.top_p);
  }
};

struct Sample {
  int64_t token = 0;
  float logprob = 0;  // under the distribution that it was drawn from
};

// Draws a token from logits [V]: divided by the temperature, cut to the top_k most
// probable, then to the top_p most probable of those, renormalised. The random number
// depends on (seed, position) only, so a request gives the same tokens alone and in any
// batch. Ties are ordered by token id.
[[nodiscard]] Sample sample(
    std::span<const float> logits, const SamplingConfig& config, int64_t position);

}  // namespace titan::generate
