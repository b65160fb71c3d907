#include "titan/ops/norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

constexpr double kEps = 1e-5;

class NormTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 1);
  }
};

// y, dx and dw.
using Results = std::vector<Tensor>;

Results ours(const Tensor& x, const Tensor& w, const Tensor& dy) {
  TestWeights source;
  const Weight weight = source.add(w);
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = rms_norm(leaf, weight, kEps, context);
  const auto grads =
      torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  return {y.detach(), grads[0], source.grad(weight)};
}

Results plain(const Tensor& x, const Tensor& w, const Tensor& dy) {
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor w_leaf = w.detach().set_requires_grad(true);
  const Tensor y = rms_norm_plain(leaf, w_leaf, kEps);
  const auto grads = torch::autograd::grad({y}, {leaf, w_leaf}, {dy});
  return {y.detach(), grads[0], grads[1]};
}

TEST_P(NormTest, ValueAndGradientsMatchTheOracle) {
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {1, 1},
           {3, 5},
           {7, 17},
           {300, 64},
           {600, 100},
           {513, 576},
           {40, 9, 64},
           {2, 4099}}) {
    SCOPED_TRACE(at::IntArrayRef(sizes));
    const Tensor x = random(sizes);
    const Tensor w = random({sizes.back()});
    const Tensor dy = random(sizes);
    const Results got = ours(x, w, dy);
    const Results library = plain(x, w, dy);
    const Results exact = plain(x.to(at::kDouble), w.to(at::kDouble), dy.to(at::kDouble));
    EXPECT_EQ(got[0].scalar_type(), GetParam());
    EXPECT_EQ(got[1].scalar_type(), GetParam());
    EXPECT_EQ(got[2].scalar_type(), at::kFloat);
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_TRUE(no_worse(got[i], library[i], exact[i]));
    }
  }
}

TEST_P(NormTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  for (const int64_t width : {16, 100, 576}) {
    const Tensor x = random({512, width});
    const Tensor w = random({width});
    const Tensor dy = random({512, width});
    const ThreadCount one(1);
    const Results all = ours(x, w, dy);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      EXPECT_TRUE(same_bits(ours(x, w, dy)[2], all[2])) << threads << " threads";
      for (const int64_t m : kRowCounts) {
        const int64_t begin = (512 - m) / 2;
        const Results some = ours(x.narrow(0, begin, m), w, dy.narrow(0, begin, m));
        EXPECT_TRUE(same_bits(some[0], all[0].narrow(0, begin, m))) << m << " rows";
        EXPECT_TRUE(same_bits(some[1], all[1].narrow(0, begin, m))) << m << " rows";
      }
    }
  }
}

TEST_P(NormTest, TheSecondUseOfAWeightIsAdded) {
  const Tensor x = random({300, 40});
  const Tensor w = random({40});
  const Tensor dy = random({300, 40});
  TestWeights source;
  const Weight weight = source.add(w);
  OpContext context;
  for (int use = 0; use < 2; ++use) {
    const Tensor y = rms_norm(x, weight, kEps, context);
    torch::autograd::grad({y}, {weight.stub}, {dy}, {}, false, true);
  }
  EXPECT_TRUE(same_bits(source.grad(weight), ours(x, w, dy)[2] * 2));
}

TEST_P(NormTest, AFrozenWeightGetsNoGradient) {
  const Tensor w = random({40});
  TestWeights source;
  const Weight weight = source.add(w, /*trained=*/false);
  OpContext context;
  const Tensor x = random({30, 40}).set_requires_grad(true);
  const Tensor dy = random({30, 40});
  const Tensor y = rms_norm(x, weight, kEps, context);
  const auto dx = torch::autograd::grad({y}, {x}, {dy});
  EXPECT_TRUE(same_bits(dx[0], ours(x, w, dy)[1]));
  EXPECT_FALSE(source.grad(weight).defined());
}

TEST_P(NormTest, NoRowsGiveAGradientOfZeros) {
  const Results results = ours(random({0, 8}), random({8}), random({0, 8}));
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({0, 8}));
  EXPECT_TRUE(results[2].eq(0).all().item<bool>());
}

TEST_P(NormTest, RefusesAWeightOfAnotherWidth) {
  TestWeights source;
  const Weight weight = source.add(random({7}));
  OpContext context;
  try {
    rms_norm(random({3, 8}), weight, kEps, context);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_STREQ(
        error.what_without_backtrace(),
        "[rms_norm] expected a weight of the input's last dimension, got [7] for [3, 8]");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, NormTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(at::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
