#include "titan/ops/rope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

struct Tables {
  Tensor cosine, sine;
};

Tables tables(int64_t tokens, int64_t width) {
  const Tensor angles = test_tensor({tokens, width / 2}, at::kFloat, 3);
  return {angles.cos(), angles.sin()};
}

template <class Rope>
std::vector<Tensor> differentiate(const Tensor& x, const Tensor& dy, const Rope& f) {
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = f(leaf);
  return {y.detach(), torch::autograd::grad({y}, {leaf}, {dy})[0]};
}

class RopeTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 1);
  }
};

TEST_P(RopeTest, ValueAndGradientMatchTheOracle) {
  for (const int64_t width : {2, 8, 10, 16, 24, 32, 64, 80, 128}) {
    SCOPED_TRACE(width);
    const Tensor x = random({33, 3, width});
    const Tensor dy = random({33, 3, width});
    const auto [c, s] = tables(33, width);
    const auto got = differentiate(x, dy, [&](const Tensor& a) { return rope(a, c, s); });
    const auto plain = [&](const Tensor& a) { return rope_plain(a, c, s); };
    const auto library = differentiate(x, dy, plain);
    const auto exact = differentiate(x.to(at::kDouble), dy.to(at::kDouble), plain);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].scalar_type(), GetParam());
      EXPECT_TRUE(no_worse(got[i], library[i], exact[i]));
    }
  }
}

TEST_P(RopeTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  for (const int64_t width : {16, 24, 64}) {
    const Tensor x = random({512, 9, width});
    const auto [c, s] = tables(512, width);
    const ThreadCount one(1);
    const Tensor all = rope(x, c, s);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      for (const int64_t m : kRowCounts) {
        const int64_t begin = (512 - m) / 2;
        const auto rows = [&](const Tensor& a) { return a.narrow(0, begin, m); };
        EXPECT_TRUE(same_bits(rope(rows(x), rows(c), rows(s)), rows(all)))
            << m << " rows, " << threads << " threads";
      }
    }
  }
}

TEST_P(RopeTest, TakesNoTokens) {
  const auto [c, s] = tables(0, 16);
  EXPECT_EQ(rope(random({0, 2, 16}), c, s).sizes(), at::IntArrayRef({0, 2, 16}));
}

TEST_P(RopeTest, RefusesTablesOfAnotherShape) {
  const auto [c, s] = tables(5, 16);
  try {
    rope(random({4, 2, 16}), c, s);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_STREQ(
        error.what_without_backtrace(),
        "[rope] expected contiguous fp32 tables of shape [4, 8], got Float [5, 8]");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, RopeTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(at::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
