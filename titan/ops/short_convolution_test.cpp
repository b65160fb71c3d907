#include "titan/ops/short_convolution.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

class ShortConvolutionTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 1);
  }

  static at::ScalarType dtype() { return GetParam(); }
};

struct Results {
  Tensor y, dx, dw;
};

const std::vector<int64_t> kLengths = {1, 2, 3, 4, 63, 64, 65, 130};
constexpr int64_t kTokens = 332;

Results ours(
    const Tensor& x,
    const Tensor& weight,
    const Tensor& dy,
    const std::vector<int64_t>& lengths) {
  TestWeights weights;
  const Weight w = weights.add(weight);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = short_convolution(leaf, w, SequenceContext::packed(lengths));
  y.backward(dy);
  return {y.detach(), leaf.grad(), weights.grad(w)};
}

Results plain(
    const Tensor& x, const Tensor& weight, const Tensor& dy, at::ScalarType dtype) {
  const Tensor leaf = x.to(dtype).set_requires_grad(true);
  const Tensor w = weight.to(dtype).set_requires_grad(true);
  const Tensor y = short_convolution_plain(leaf, w, SequenceContext::packed(kLengths));
  const auto grads = torch::autograd::grad({y}, {leaf, w}, {dy.to(dtype)});
  return {y.detach(), grads[0], grads[1]};
}

TEST_P(ShortConvolutionTest, ValueAndGradientsMatchTheOracle) {
  for (const int64_t channels : {1, 16, 40, 257}) {
    const Tensor x = random({kTokens, channels});
    const Tensor w = random({channels, 4});
    const Tensor dy = random({kTokens, channels});
    const Results got = ours(x, w, dy, kLengths);
    const Results library = plain(x, w, dy, dtype());
    const Results exact = plain(x, w, dy, at::kDouble);
    EXPECT_TRUE(no_worse(got.y, library.y, exact.y)) << channels;
    EXPECT_TRUE(no_worse(got.dx, library.dx, exact.dx)) << channels;
    EXPECT_TRUE(no_worse(got.dw, library.dw, exact.dw)) << channels;
  }
}

TEST_P(ShortConvolutionTest, TheShapeOfTheWeightAndStridesDoNotMatter) {
  const Tensor x = random({70, 33});
  const Tensor w = random({33, 4});
  const Tensor dy = random({70, 33});
  const Results expected = ours(x, w, dy, {70});
  const Tensor wide = at::cat({x, x}, 1).narrow(1, 0, 33);
  const Results got = ours(wide, w.view({33, 1, 4}), dy.t().contiguous().t(), {70});
  EXPECT_TRUE(same_bits(got.y, expected.y));
  EXPECT_TRUE(same_bits(got.dx, expected.dx));
  EXPECT_TRUE(same_bits(got.dw.view({33, 4}), expected.dw));
}

TEST_P(ShortConvolutionTest, ThreadsNeighboursAndRepeatsDoNotMatter) {
  const Tensor x = random({kTokens, 72});
  const Tensor w = random({72, 4});
  const Tensor dy = random({kTokens, 72});
  const Results first = ours(x, w, dy, kLengths);
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    for (int repeat = 0; repeat < 7; ++repeat) {
      const Results again = ours(x, w, dy, kLengths);
      ASSERT_TRUE(same_bits(again.y, first.y));
      ASSERT_TRUE(same_bits(again.dx, first.dx));
      ASSERT_TRUE(same_bits(again.dw, first.dw));
    }
  }
  int64_t row = 0;
  for (const int64_t length : kLengths) {
    const auto document = [&](const Tensor& t) { return t.narrow(0, row, length); };
    const Results alone = ours(document(x), w, document(dy), {length});
    EXPECT_TRUE(same_bits(alone.y, document(first.y))) << length;
    EXPECT_TRUE(same_bits(alone.dx, document(first.dx))) << length;
    row += length;
  }
}

TEST_P(ShortConvolutionTest, AnyPartsOfAPromptHaveTheBitsOfTheWhole) {
  constexpr int64_t kChannels = 40;
  TestWeights weights;
  const Weight w = weights.add(random({kChannels, 4}));
  const Tensor x = random({512, kChannels});
  const Tensor whole = short_convolution(x, w, SequenceContext::packed({512}));
  for (const int64_t m : {1, 2, 3, 7, 8, 16, 31, 33, 44, 45, 64, 255, 256, 257, 512}) {
    const ConvolutionCache cache{at::full({2, 3, kChannels}, NAN, x.options()), {1}};
    for (int64_t begin = 0; begin < 512; begin += m) {
      const int64_t rows = std::min(m, 512 - begin);
      const SequenceContext step{
          {{.query_begin = 0, .query_length = rows, .position = begin}}};
      ASSERT_TRUE(same_bits(
          short_convolution_cached(x.narrow(0, begin, rows), w, step, cache),
          whole.narrow(0, begin, rows)))
          << m << " rows from " << begin;
    }
    EXPECT_TRUE(cache.rows[0].isnan().all().item<bool>());
  }
}

// One sequence goes on, another starts in a used slot.
TEST_P(ShortConvolutionTest, SequencesOfOneStepKeepToTheirSlots) {
  TestWeights weights;
  const Weight w = weights.add(random({24, 4}));
  const Tensor x = random({30, 24});
  const Tensor whole = short_convolution(x, w, SequenceContext::packed({20, 10}));
  ConvolutionCache cache{at::full({2, 3, 24}, NAN, x.options()), {0}};
  short_convolution_cached(x.narrow(0, 0, 18), w, SequenceContext::packed({18}), cache);
  cache.slots = {0, 1};
  const SequenceContext step{
      {{.query_begin = 0, .query_length = 2, .position = 18},
       {.query_begin = 2, .query_length = 10, .position = 0}}};
  EXPECT_TRUE(same_bits(
      short_convolution_cached(x.narrow(0, 18, 12), w, step, cache),
      whole.narrow(0, 18, 12)));
}

TEST_P(ShortConvolutionTest, LargeValuesStayFinite) {
  TestWeights weights;
  const Weight w = weights.add(at::ones({1, 4}, at::TensorOptions(dtype())));
  const Tensor x = at::tensor({-1e4F, 3e4F}).to(dtype()).view({2, 1});
  const Tensor y = short_convolution(x, w, SequenceContext::packed({2}));
  EXPECT_EQ(y[0].item<float>(), 0.0F);
  EXPECT_EQ(y[1].item<float>(), x.sum(at::kFloat).to(dtype()).item<float>());
}

TEST_P(ShortConvolutionTest, NoRowsGiveNoRows) {
  const Tensor none = random({0, 24});
  const Results got = ours(none, random({24, 4}), none, {});
  EXPECT_EQ(got.y.sizes(), at::IntArrayRef({0, 24}));
  EXPECT_TRUE(got.dw.eq(0).all().item<bool>());
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST_P(ShortConvolutionTest, RefusesInputsThatDoNotFit) {
  TestWeights weights;
  const Weight w = weights.add(random({24, 4}));
  const Weight three = weights.add(random({24, 3}));
  const Tensor x = random({10, 24});
  const SequenceContext sequence = SequenceContext::packed({10});
  EXPECT_EQ(
      message_of([&] { short_convolution(x.to(at::kDouble), w, sequence); }),
      "[short_convolution] expected fp32 or bf16 [T, C] with contiguous rows, got Double "
      "[10, 24]");
  EXPECT_EQ(
      message_of([&] { short_convolution(x, three, sequence); }),
      "[short_convolution] expected a weight [24, 4] or [24, 1, 4], got [24, 3]");
  EXPECT_EQ(
      message_of([&] { short_convolution(x, w, SequenceContext::packed({9})); }),
      "[short_convolution] the spans cover 9 rows of 10");
  const SequenceContext later{{{.query_begin = 0, .query_length = 10, .position = 1}}};
  EXPECT_EQ(
      message_of([&] { short_convolution(x, w, later); }),
      "[short_convolution] expected whole sequences, but the span at row 0 starts at "
      "position 1");
  const auto cached = [&](at::IntArrayRef sizes, const std::vector<int64_t>& slots) {
    return message_of([&] {
      short_convolution_cached(x, w, later, {at::zeros(sizes, x.options()), slots});
    });
  };
  EXPECT_EQ(
      cached({2, 4, 24}, {0}),
      "[short_convolution] expected contiguous " + std::string(at::toString(dtype())) +
          " rows [slots, 3, 24], got " + std::string(at::toString(dtype())) +
          " [2, 4, 24]");
  EXPECT_EQ(
      cached({2, 3, 24}, {0, 1}),
      "[short_convolution] expected a slot for each of 1 spans, got 2");
  EXPECT_EQ(
      cached({2, 3, 24}, {2}),
      "[short_convolution] expected different slots of 2, got 2");
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    ShortConvolutionTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(at::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
