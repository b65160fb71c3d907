#include "titan/ops/grad_norm.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

double sum_of_squares(const Tensor& x) {
  return sums_of_squares({&x, 1}).front();
}

TEST(SumsOfSquaresTest, AreExactToDoubleAtAnyThreadCount) {
  std::vector<Tensor> tensors;
  for (const int64_t numel : {0, 1, 17, 65536, 65537, 1000003}) {
    tensors.push_back(test_tensor({numel}, at::kFloat, 1));
  }
  const ThreadCount one(1);
  const std::vector<double> sums = sums_of_squares(tensors);
  ASSERT_EQ(sums.size(), tensors.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const double exact = tensors[i].to(at::kDouble).square().sum().item<double>();
    EXPECT_NEAR(sums[i], exact, 1e-13 * exact);
    EXPECT_EQ(sum_of_squares(tensors[i]), sums[i]) << "alone";
  }
  for (const int threads : {2, 3}) {
    const ThreadCount count(threads);
    EXPECT_EQ(sums_of_squares(tensors), sums);
  }
}

TEST(SumsOfSquaresTest, KeepWhatFp32CannotHold) {
  EXPECT_EQ(sum_of_squares(at::full({2}, 1e30F)), 2 * std::pow(double{1e30F}, 2));
}

TEST(SumsOfSquaresTest, LetInfinityAndNanThroughWhereTheyAre) {
  std::vector<Tensor> tensors{at::ones({3}), at::ones({100}), at::ones({100})};
  tensors[1][70] = std::numeric_limits<float>::infinity();
  tensors[2][99] = NAN;
  const std::vector<double> sums = sums_of_squares(tensors);
  EXPECT_EQ(sums[0], 3);
  EXPECT_TRUE(std::isinf(sums[1]));
  EXPECT_TRUE(std::isnan(sums[2]));
}

TEST(SumsOfSquaresTest, RefuseOtherTensors) {
  const auto message = [](const Tensor& x) -> std::string {
    try {
      sum_of_squares(x);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "no error";
  };
  EXPECT_EQ(
      message(at::ones({3}, at::kDouble)),
      "[sums_of_squares] expected contiguous fp32, got Double");
  EXPECT_EQ(
      message(at::ones({3, 2}).t()),
      "[sums_of_squares] expected contiguous fp32, got non-contiguous Float");
}

}  // namespace
}  // namespace titan::ops
