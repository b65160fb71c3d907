#include <cmath>
#include <map>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/generate/generator.h"
#include "titan/models/llama3/config.h"
#include "titan/ops/head.h"

namespace titan::generate {
namespace {

const std::vector<float> kLogits = {0.5F, 2.0F, -1.0F, 1.9F, 2.0F};

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  const Sample got = sample(kLogits, {}, 7);
  EXPECT_EQ(got.token, 1);
  double sum = 0;
  for (const float logit : kLogits) {
    sum += std::exp(logit);
  }
  EXPECT_NEAR(got.logprob, 2.0 - std::log(sum), 1e-6);
}

TEST(Sampler, FrequenciesFollowTheDistribution) {
  const SamplingConfig config{.temperature = 0.7, .seed = 5};
  std::map<int64_t, int> counts;
  constexpr int kDraws = 20000;
  double expected_logprob = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Sample got = sample(kLogits, config, i);
    ++counts[got.token];
    if (got.token == 0) {
      expected_logprob = got.logprob;
    }
  }
  double sum = 0;
  for (const float logit : kLogits) {
    sum += std::exp(logit / 0.7);
  }
  for (size_t i = 0; i < kLogits.size(); ++i) {
    EXPECT_NEAR(
        counts[static_cast<int64_t>(i)] / static_cast<double>(kDraws),
        std::exp(kLogits[i] / 0.7) / sum,
        0.012)
        << i;
  }
  EXPECT_NEAR(expected_logprob, 0.5 / 0.7 - std::log(sum), 1e-6);
}

TEST(Sampler, TopKAndTopPCutAndRenormalise) {
  const SamplingConfig two{.temperature = 1, .top_k = 2, .seed = 1};
  for (int i = 0; i < 200; ++i) {
    const Sample got = sample(kLogits, two, i);
    EXPECT_TRUE(got.token == 1 || got.token == 4);
    EXPECT_NEAR(got.logprob, std::log(0.5), 1e-6);
  }
  const SamplingConfig nucleus{.temperature = 1, .top_p = 1e-9, .seed = 1};
  EXPECT_EQ(sample(kLogits, nucleus, 3).token, 1);
  EXPECT_EQ(sample(kLogits, nucleus, 3).logprob, 0);
}

TEST(Sampler, TheDrawDependsOnSeedAndPositionOnly) {
  const SamplingConfig config{.temperature = 1, .seed = 9};
  EXPECT_EQ(sample(kLogits, config, 4).token, sample(kLogits, config, 4).token);
  int changed = 0;
  for (int i = 0; i < 50; ++i) {
    changed +=
        sample(kLogits, config, i).token != sample(kLogits, config, i + 1000).token;
  }
  EXPECT_GT(changed, 5);
}

class GeneratorTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  GeneratorTest() {
    models::Llama3Config config = models::llama3_size("debug");
    config.dense.layers = 2;
    config.dense.kv_heads = 4;
    config.dense.vocab = 101;
    config.dense.context = 64;
    model_ = std::make_unique<models::CausalLm>(
        config, models::CausalLmOptions{.compute_dtype = GetParam()});
    model_->parameters().materialize();
    model_->parameters().initialize(11);
  }

  std::unique_ptr<models::CausalLm> model_;
  std::vector<int64_t> prompt_ = {3, 1, 4, 1, 5, 9, 2, 6, 5};
};

// Decoding over the cache runs the forward that scores the whole text: the same bits.
TEST_P(GeneratorTest, GreedyStepsEqualTheFullForward) {
  const Generated got = generate(*model_, prompt_, {.max_tokens = 12}, [](int64_t) {});
  ASSERT_EQ(got.tokens.size(), 12U);
  std::vector<int64_t> all = prompt_;
  for (const int64_t token : got.tokens) {
    const at::Tensor logits = model_->logits(
        at::tensor(at::IntArrayRef(all), at::kLong),
        ops::SequenceContext::packed({static_cast<int64_t>(all.size())}));
    EXPECT_EQ(logits[-1].argmax().item<int64_t>(), token);
    all.push_back(token);
  }
}

TEST_P(GeneratorTest, CachedLogitsHaveTheBitsOfTheFullForward) {
  const auto length = static_cast<int64_t>(prompt_.size());
  const at::Tensor tokens = at::tensor(at::IntArrayRef(prompt_), at::kLong);
  const at::Tensor whole = model_->logits(tokens, ops::SequenceContext::packed({length}));
  for (const int64_t split : {1, 4, 8}) {
    nn::KvCache cache = model_->make_cache(length);
    const at::Tensor first = model_->logits(
        tokens.narrow(0, 0, split), ops::SequenceContext::packed({split}), &cache);
    const ops::SequenceContext rest{{{0, length - split, split, 0}}};
    const at::Tensor second = model_->logits(
        tokens.narrow(0, split, length - split).contiguous(), rest, &cache);
    EXPECT_TRUE(at::equal(at::cat({first, second}), whole)) << split;
  }
}

TEST_P(GeneratorTest, StopsAtAnEndTokenAndRefusesBadPrompts) {
  const Generated free = generate(*model_, prompt_, {.max_tokens = 5}, [](int64_t) {});
  int seen = 0;
  const Generated ended = generate(
      *model_,
      prompt_,
      {.max_tokens = 5, .end_tokens = {static_cast<int32_t>(free.tokens[0])}},
      [&](int64_t) { ++seen; });
  EXPECT_EQ(ended.tokens.size(), 1U);
  EXPECT_EQ(seen, 1);
  EXPECT_THROW((void)generate(*model_, {}, {}, [](int64_t) {}), InputError);
  EXPECT_THROW((void)generate(*model_, {101}, {}, [](int64_t) {}), InputError);
  EXPECT_THROW(
      (void)generate(*model_, prompt_, {.max_tokens = 56}, [](int64_t) {}), InputError);
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, GeneratorTest, testing::Values(at::kFloat, at::kBFloat16));

}  // namespace
}  // namespace titan::generate
