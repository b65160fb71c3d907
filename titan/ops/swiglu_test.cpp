#include "titan/ops/swiglu.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

// y, d gate, d up.
template <class Swiglu>
std::vector<Tensor> differentiate(
    const Tensor& gate, const Tensor& up, const Tensor& dy, const Swiglu& f) {
  const Tensor g = gate.detach().set_requires_grad(true);
  const Tensor u = up.detach().set_requires_grad(true);
  const Tensor y = f(g, u);
  const auto grads = torch::autograd::grad({y}, {g, u}, {dy});
  return {y.detach(), grads[0], grads[1]};
}

class SwigluTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 2);
  }
};

TEST_P(SwigluTest, ValueAndGradientsMatchTheOracle) {
  for (const auto& sizes :
       std::vector<std::vector<int64_t>>{{1, 1}, {3, 17}, {100, 333}, {512, 1536}}) {
    const Tensor gate = random(sizes);
    const Tensor up = random(sizes);
    const Tensor dy = random(sizes);
    const auto got = differentiate(gate, up, dy, swiglu);
    const auto library = differentiate(gate, up, dy, swiglu_plain);
    const auto exact = differentiate(
        gate.to(at::kDouble), up.to(at::kDouble), dy.to(at::kDouble), swiglu_plain);
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(got[i].scalar_type(), GetParam());
      EXPECT_TRUE(no_worse(got[i], library[i], exact[i]));
    }
  }
}

TEST_P(SwigluTest, LargeGatesSaturate) {
  const Tensor gate = at::tensor({-1e4F, -90.0F, 90.0F, 1e4F, 0.0F}).to(GetParam());
  const Tensor up = at::full_like(gate, 2);
  const Tensor expected = at::tensor({-0.0F, 0.0F, 180.0F, 2e4F, 0.0F}).to(GetParam());
  EXPECT_TRUE(at::allclose(swiglu(gate, up), expected, 1e-2, 1e-30));
}

TEST_P(SwigluTest, NanStaysNan) {
  const Tensor gate =
      at::full({20}, std::numeric_limits<float>::quiet_NaN()).to(GetParam());
  EXPECT_TRUE(swiglu(gate, at::ones_like(gate)).isnan().all().item<bool>());
}

TEST_P(SwigluTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  const Tensor gate = random({512, 333});
  const Tensor up = random({512, 333});
  const Tensor dy = random({512, 333});
  const ThreadCount one(1);
  const auto all = differentiate(gate, up, dy, swiglu);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    for (const int64_t m : kRowCounts) {
      const int64_t begin = (512 - m) / 2;
      const auto rows = [&](const Tensor& a) { return a.narrow(0, begin, m); };
      const auto some = differentiate(rows(gate), rows(up), rows(dy), swiglu);
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(same_bits(some[i], rows(all[i]))) << m << " rows, result " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, SwigluTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(at::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
