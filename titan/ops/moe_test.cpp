#include "titan/ops/moe.h"

#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

// Different experts for each of T tokens, drawn from E.
Tensor random_experts(int64_t tokens, int64_t num_experts, int64_t k) {
  const Tensor scores = test_tensor({tokens, num_experts}, at::kFloat, 1);
  return std::get<1>(scores.topk(k, -1)).contiguous();
}

class MoeTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  Tensor random(at::IntArrayRef sizes, double scale = 1) const {
    return test_tensor(sizes, GetParam(), scale);
  }
};

using Op = std::function<Tensor(const std::vector<Tensor>&)>;

// The value of an op and its gradients.
std::vector<Tensor> run(
    const Op& op, const std::vector<Tensor>& inputs, const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(input.detach().set_requires_grad(true));
  }
  const Tensor out = op(leaves);
  std::vector<Tensor> results = torch::autograd::grad({out}, leaves, {grad});
  results.insert(results.begin(), out.detach());
  return results;
}

std::vector<Tensor> to_double(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> wide;
  for (const Tensor& t : tensors) {
    wide.push_back(t.to(at::kDouble));
  }
  return wide;
}

TEST(ExpertOrderTest, IsAStableSortWithItsInverse) {
  const Tensor experts = at::tensor({2, 0, 3, 2, 0, 3, 3, 2}, at::kLong).view({4, 2});
  const ExpertOrder order = expert_order(experts, 5);
  EXPECT_TRUE(order.offsets.equal(at::tensor({0, 2, 2, 5, 8, 8}, at::kLong)));
  EXPECT_TRUE(order.slots.equal(at::tensor({1, 4, 0, 3, 7, 2, 5, 6}, at::kLong)));
  EXPECT_TRUE(
      order.rows.flatten().equal(at::tensor({2, 0, 5, 3, 1, 6, 7, 4}, at::kLong)));
  EXPECT_TRUE(order.counts().equal(at::tensor({2, 0, 3, 3, 0}, at::kLong)));
}

TEST(ExpertOrderTest, MatchesTheLibrarysStableSort) {
  const Tensor experts = random_experts(501, 60, 6);
  const ExpertOrder order = expert_order(experts, 60);
  const ExpertOrder plain = expert_order_plain(experts, 60);
  EXPECT_TRUE(order.offsets.equal(plain.offsets));
  EXPECT_TRUE(order.rows.equal(plain.rows));
  EXPECT_TRUE(order.slots.equal(plain.slots));
}

TEST(ExpertOrderTest, RefusesWhatIsNoExpert) {
  const auto message = [](const Tensor& experts) -> std::string {
    try {
      expert_order(experts, 4);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "no error";
  };
  EXPECT_EQ(
      message(at::tensor({0, 4}, at::kLong).view({1, 2})),
      "[expert_order] expected experts in [0, 4), got 4");
  EXPECT_EQ(
      message(at::tensor({0, -1}, at::kLong).view({1, 2})),
      "[expert_order] expected experts in [0, 4), got -1");
  EXPECT_EQ(
      message(at::tensor({0, 1}, at::kInt).view({1, 2})),
      "[expert_order] expected contiguous int64 [T, k], got Int [1, 2]");
}

TEST_P(MoeTest, ValuesAndGradientsMatchTheOracle) {
  for (const auto& [tokens, width] : {std::pair{1, 1}, {7, 40}, {130, 129}}) {
    SCOPED_TRACE(testing::Message() << "T " << tokens << " D " << width);
    const int64_t k = 3;
    const ExpertOrder order = expert_order(random_experts(tokens, 9, k), 9);
    const auto check = [](const Op& op,
                          const Op& plain,
                          const std::vector<Tensor>& inputs,
                          const Tensor& grad) {
      const auto ours = run(op, inputs, grad);
      const auto library = run(plain, inputs, grad);
      const auto exact = run(plain, to_double(inputs), grad.to(at::kDouble));
      for (size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].scalar_type(), library[i].scalar_type());
        EXPECT_TRUE(no_worse(ours[i], library[i], exact[i])) << "result " << i;
      }
    };
    check(
        [&](const auto& in) { return to_expert_order(in[0], order); },
        [&](const auto& in) { return to_expert_order_plain(in[0], order); },
        {random({tokens, width})},
        random({tokens * k, width}));
    check(
        [&](const auto& in) { return to_token_order(in[0], order); },
        [&](const auto& in) { return to_token_order_plain(in[0], order); },
        {random({tokens * k, width})},
        random({tokens, width}));
    check(
        [&](const auto& in) { return combine_experts(in[0], in[1], order); },
        [&](const auto& in) { return combine_experts_plain(in[0], in[1], order); },
        {random({tokens * k, width}), test_tensor({tokens, k}, at::kFloat, 1)},
        random({tokens, width}));
  }
}

TEST_P(MoeTest, ATokenHasTheSameBitsAmongAnyTokensAndThreads) {
  const int64_t k = 4;
  const int64_t width = 100;
  const Tensor experts = random_experts(512, 16, k);
  const Tensor x = random({512, width});
  const Tensor weights = test_tensor({512, k}, at::kFloat, 1);
  const Tensor grad = random({512, width});
  // There and back: the result of a token does not depend on where its rows lie.
  const auto there_and_back = [&](int64_t begin, int64_t count) {
    const ExpertOrder order = expert_order(experts.narrow(0, begin, count), 16);
    return run(
        [&](const auto& in) {
          return combine_experts(to_expert_order(in[0], order), in[1], order);
        },
        {x.narrow(0, begin, count), weights.narrow(0, begin, count)},
        grad.narrow(0, begin, count));
  };
  const ThreadCount one(1);
  const std::vector<Tensor> all = there_and_back(0, 512);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    for (const int64_t m : kRowCounts) {
      const int64_t begin = (512 - m) / 2;
      const std::vector<Tensor> some = there_and_back(begin, m);
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(same_bits(some[i], all[i].narrow(0, begin, m)))
            << m << " tokens, " << threads << " threads, result " << i;
      }
    }
  }
}

TEST_P(MoeTest, NoTokensGiveNoRows) {
  const ExpertOrder order = expert_order(at::zeros({0, 2}, at::kLong), 3);
  EXPECT_TRUE(order.offsets.equal(at::zeros({4}, at::kLong)));
  const Tensor rows = to_expert_order(random({0, 5}), order);
  EXPECT_EQ(rows.sizes(), at::IntArrayRef({0, 5}));
  EXPECT_EQ(
      combine_experts(rows, at::zeros({0, 2}), order).sizes(), at::IntArrayRef({0, 5}));
}

TEST_P(MoeTest, WhatDoesNotFitIsRefused) {
  const ExpertOrder order = expert_order(random_experts(4, 6, 2), 6);
  EXPECT_THROW(to_expert_order(random({3, 5}), order), c10::Error);
  EXPECT_THROW(to_expert_order(random({5, 4}).t(), order), c10::Error);
  EXPECT_THROW(to_token_order(random({4, 5}), order), c10::Error);
  EXPECT_THROW(combine_experts(random({8, 5}), at::zeros({4, 3}), order), c10::Error);
  EXPECT_THROW(
      combine_experts(random({8, 5}), at::zeros({4, 2}, at::kDouble), order), c10::Error);
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, MoeTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(c10::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
