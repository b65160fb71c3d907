#include "titan/ops/adamw.h"

#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

struct State {
  Tensor parameter, first, second;

  [[nodiscard]] State copy(at::ScalarType dtype) const {
    const auto to = [&](const Tensor& x) { return x.to(dtype, false, /*copy=*/true); };
    return {to(parameter), to(first), to(second)};
  }
};

State start(int64_t numel) {
  const auto random = [&] { return test_tensor({numel}, at::kFloat, 1); };
  return {random(), random().mul(0.1), random().square().mul(0.01)};
}

AdamWArgs arguments(int64_t step) {
  return {
      .lr = 1e-3,
      .beta1 = 0.9,
      .beta2 = 0.95,
      .eps = 1e-8,
      .weight_decay = 0.1,
      .step = step,
      .gradient_scale = 0.7};
}

TEST(AdamWTest, StepsMatchTheOracle) {
  for (const int64_t numel : {1, 15, 16, 1000, 100003}) {
    const State initial = start(numel);
    State ours = initial.copy(at::kFloat);
    State library = initial.copy(at::kFloat);
    State exact = initial.copy(at::kDouble);
    for (int64_t step = 1; step <= 3; ++step) {
      const Tensor g = test_tensor({numel}, at::kFloat, 0.3);
      const AdamWArgs args = arguments(step);
      adamw_step(args, ours.parameter, g, ours.first, ours.second);
      adamw_step_plain(args, library.parameter, g, library.first, library.second);
      adamw_step_plain(
          args, exact.parameter, g.to(at::kDouble), exact.first, exact.second);
    }
    EXPECT_TRUE(no_worse(ours.parameter, library.parameter, exact.parameter));
    EXPECT_TRUE(no_worse(ours.first, library.first, exact.first));
    EXPECT_TRUE(no_worse(ours.second, library.second, exact.second));
  }
}

TEST(AdamWTest, AnElementHasTheSameBitsInAnyTensorAndAtAnyThreadCount) {
  const State initial = start(100003);
  const Tensor g = test_tensor({100003}, at::kFloat, 0.3);
  const ThreadCount one(1);
  State whole = initial.copy(at::kFloat);
  adamw_step(arguments(2), whole.parameter, g, whole.first, whole.second);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    State parts = initial.copy(at::kFloat);
    for (const auto& [begin, length] :
         {std::pair<int64_t, int64_t>{0, 7}, {7, 50000}, {50007, 49996}}) {
      const auto part = [b = begin, n = length](const Tensor& x) {
        return x.narrow(0, b, n);
      };
      adamw_step(
          arguments(2),
          part(parts.parameter),
          part(g),
          part(parts.first),
          part(parts.second));
    }
    EXPECT_TRUE(same_bits(parts.parameter, whole.parameter)) << threads;
    EXPECT_TRUE(same_bits(parts.first, whole.first)) << threads;
    EXPECT_TRUE(same_bits(parts.second, whole.second)) << threads;
  }
}

TEST(AdamWTest, Bf16MomentsAreRoundedAfterTheUpdate) {
  for (const int64_t numel : {1, 17, 100003}) {
    const State initial = start(numel);
    const Tensor g = test_tensor({numel}, at::kFloat, 0.3);
    // The same moments in both: what differs is how they are kept.
    const auto kept = [](const Tensor& x) { return x.to(at::kBFloat16); };
    State narrow{initial.parameter.clone(), kept(initial.first), kept(initial.second)};
    State wide{
        initial.parameter.clone(),
        narrow.first.to(at::kFloat),
        narrow.second.to(at::kFloat)};
    adamw_step(arguments(3), narrow.parameter, g, narrow.first, narrow.second);
    adamw_step(arguments(3), wide.parameter, g, wide.first, wide.second);
    EXPECT_TRUE(same_bits(narrow.parameter, wide.parameter));
    EXPECT_TRUE(same_bits(narrow.first, kept(wide.first)));
    EXPECT_TRUE(same_bits(narrow.second, kept(wide.second)));
  }
}

TEST(AdamWTest, RefusesMomentsOfTwoDtypes) {
  const State s = start(8);
  EXPECT_THROW(
      adamw_step(
          arguments(1), s.parameter, at::zeros({8}), s.first.to(at::kBFloat16), s.second),
      c10::Error);
}

TEST(AdamWTest, RefusesATensorOfAnotherLength) {
  const State s = start(8);
  try {
    adamw_step(arguments(1), s.parameter, at::zeros({7}), s.first, s.second);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_STREQ(
        error.what_without_backtrace(),
        "[adamw_step] gradient: expected contiguous Float of 8 elements, got Float of 7");
  }
}

}  // namespace
}  // namespace titan::ops
