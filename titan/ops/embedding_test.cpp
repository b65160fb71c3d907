#include "titan/ops/embedding.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

class EmbeddingTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  Tensor random(at::IntArrayRef sizes) const { return test_tensor(sizes, GetParam(), 1); }
};

void run_backward(
    const Tensor& tokens, const Weight& weight, const Tensor& dy, OpContext& context) {
  const Tensor y = embedding(tokens, weight, context);
  (void)torch::autograd::grad({y}, {weight.stub}, {dy}, {}, false, true);
}

TEST_P(EmbeddingTest, RowsAreTheTables) {
  const Tensor w = random({11, 5});
  const Tensor tokens = at::tensor({3, 0, 10, 3}, at::kLong);
  TestWeights source;
  OpContext context;
  EXPECT_TRUE(
      same_bits(embedding(tokens, source.add(w), context), embedding_plain(tokens, w)));
}

TEST_P(EmbeddingTest, RepeatedTokensAddInAscendingOrder) {
  const Tensor tokens = at::arange(500).mul_(7).remainder_(13);
  const Tensor dy = random({500, 33});
  Tensor expected = at::zeros({20, 33});
  for (int64_t t = 0; t < 500; ++t) {
    expected[tokens[t].item<int64_t>()].add_(dy[t].to(at::kFloat));
  }
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    TestWeights source;
    OpContext context;
    const Weight weight = source.add(random({20, 33}));
    run_backward(tokens, weight, dy, context);
    EXPECT_TRUE(same_bits(source.grad(weight), expected)) << threads << " threads";
  }
}

TEST_P(EmbeddingTest, AnEarlierGradientIsAddedToOnce) {
  const Tensor tokens = at::arange(50).remainder_(7);
  const Tensor dy = random({50, 33});
  TestWeights source;
  OpContext context;
  const Weight alone = source.add(random({20, 33}));
  run_backward(tokens, alone, dy, context);
  const Weight weight = source.add(random({20, 33}));
  const Tensor before = test_tensor({20, 33}, at::kFloat, 1);
  source.add_grad(weight.handle.index, before);
  run_backward(tokens, weight, dy, context);
  EXPECT_TRUE(same_bits(source.grad(weight), before + source.grad(alone)));
}

TEST_P(EmbeddingTest, NoTokensGiveAZeroGradient) {
  TestWeights source;
  OpContext context;
  const Weight weight = source.add(random({20, 33}));
  run_backward(at::empty({0}, at::kLong), weight, random({0, 33}), context);
  EXPECT_TRUE(same_bits(source.grad(weight), at::zeros({20, 33})));
}

TEST_P(EmbeddingTest, AFrozenTableIsNotRecorded) {
  TestWeights source;
  OpContext context;
  const Weight weight = source.add(random({20, 33}), /*trained=*/false);
  EXPECT_FALSE(embedding(at::zeros({3}, at::kLong), weight, context).requires_grad());
}

TEST_P(EmbeddingTest, TokensOutsideTheTableAreRefused) {
  TestWeights source;
  OpContext context;
  const Weight weight = source.add(random({20, 33}));
  EXPECT_THROW(embedding(at::full({1}, 20), weight, context), c10::Error);
  EXPECT_THROW(embedding(at::zeros({1}, at::kInt), weight, context), c10::Error);
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    EmbeddingTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(c10::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
