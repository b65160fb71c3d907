#include "titan/ops/router.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

struct Family {
  std::string name;
  RouterArgs args;
  int64_t num_experts;
  bool bias;
};

// The routers of the published families.
std::vector<Family> families() {
  return {
      {"Qwen3Moe",
       {.score = RouterScore::kSoftmax, .top_k = 8, .renormalize = true},
       128,
       false},
      {"SoftmaxOfAll", {.score = RouterScore::kSoftmax, .top_k = 3}, 7, false},
      {"GptOss", {.score = RouterScore::kSoftmaxOfChosen, .top_k = 4}, 32, false},
      {"DeepSeekV3",
       {.score = RouterScore::kSigmoid,
        .top_k = 8,
        .num_groups = 8,
        .kept_groups = 4,
        .renormalize = true,
        .scale = 2.5F},
       256,
       true},
      {"KimiK2",
       {.score = RouterScore::kSigmoid, .top_k = 8, .renormalize = true, .scale = 2.827F},
       384,
       true},
      {"DeepSeekV4",
       {.score = RouterScore::kSqrtSoftplus,
        .top_k = 6,
        .renormalize = true,
        .scale = 1.5F},
       256,
       true},
      {"OneExpert", {.score = RouterScore::kSigmoid, .top_k = 1}, 5, false},
      {"EveryExpert", {.score = RouterScore::kSqrtSoftplus, .top_k = 18}, 18, true}};
}

class RouterTest : public testing::TestWithParam<Family> {
 protected:
  [[nodiscard]] Tensor logits(int64_t tokens, double scale = 2) const {
    return test_tensor({tokens, GetParam().num_experts}, at::kFloat, scale);
  }

  [[nodiscard]] Tensor bias() const {
    return GetParam().bias ? test_tensor({GetParam().num_experts}, at::kFloat, 0.1)
                           : Tensor();
  }
};

Tensor gradient(const Tensor& weights, const Tensor& leaf, const Tensor& grad) {
  return torch::autograd::grad({weights}, {leaf}, {grad})[0];
}

TEST_P(RouterTest, ChoiceWeightsAndGradientMatchTheOracle) {
  const RouterArgs& args = GetParam().args;
  const Tensor x = logits(65);
  const Tensor b = bias();
  const Tensor leaf = x.clone().set_requires_grad(true);
  const Routing ours = route(leaf, b, args);
  ASSERT_EQ(ours.weights.scalar_type(), at::kFloat);
  const Tensor wide = x.to(at::kDouble).set_requires_grad(true);
  const Routing exact = route_plain(wide, b.defined() ? b.to(at::kDouble) : b, args);
  EXPECT_TRUE(ours.experts.equal(exact.experts));
  EXPECT_FALSE(ours.experts.requires_grad());

  const Tensor library_leaf = x.clone().set_requires_grad(true);
  const Tensor library = route_to_plain(library_leaf, ours.experts, args);
  EXPECT_TRUE(no_worse(ours.weights.detach(), library.detach(), exact.weights.detach()));
  const Tensor grad = test_tensor({65, args.top_k}, at::kFloat, 1);
  // The difference of near numbers in a renormalized gradient: ten units in the last
  // place.
  EXPECT_TRUE(no_worse(
      gradient(ours.weights, leaf, grad),
      gradient(library, library_leaf, grad),
      gradient(exact.weights, wide, grad.to(at::kDouble)),
      /*floor=*/6e-7));
}

TEST_P(RouterTest, Bf16LogitsAreScoredAsTheirFp32Values) {
  const RouterArgs& args = GetParam().args;
  const Tensor narrow = logits(33).to(at::kBFloat16).set_requires_grad(true);
  const Tensor wide = narrow.detach().to(at::kFloat).set_requires_grad(true);
  const Tensor b = bias();
  const Routing a = route(narrow, b, args);
  const Routing c = route(wide, b, args);
  EXPECT_TRUE(same_bits(a.experts, c.experts));
  EXPECT_TRUE(same_bits(a.weights.detach(), c.weights.detach()));
  const Tensor grad = test_tensor({33, args.top_k}, at::kFloat, 1);
  const Tensor d = gradient(a.weights, narrow, grad);
  EXPECT_TRUE(same_bits(d, gradient(c.weights, wide, grad).to(at::kBFloat16)));
}

TEST_P(RouterTest, GivenExpertsHaveTheWeightsOfChosenOnes) {
  const RouterArgs& args = GetParam().args;
  const Tensor x = logits(40).set_requires_grad(true);
  const Routing chosen = route(x, bias(), args);
  const Tensor weights = route_to(x, chosen.experts, args);
  EXPECT_TRUE(same_bits(weights.detach(), chosen.weights.detach()));
  const Tensor grad = test_tensor({40, args.top_k}, at::kFloat, 1);
  EXPECT_TRUE(same_bits(gradient(weights, x, grad), gradient(chosen.weights, x, grad)));
}

TEST_P(RouterTest, ATokenHasTheSameBitsAmongAnyTokensAndThreads) {
  const RouterArgs& args = GetParam().args;
  const Tensor x = logits(512);
  const Tensor b = bias();
  const Tensor grad = test_tensor({512, args.top_k}, at::kFloat, 1);
  const auto run = [&](int64_t begin, int64_t count) {
    const Tensor leaf = x.narrow(0, begin, count).detach().set_requires_grad(true);
    const Routing r = route(leaf, b, args);
    const Tensor d = gradient(r.weights, leaf, grad.narrow(0, begin, count));
    return std::vector<Tensor>{r.experts, r.weights.detach(), d};
  };
  const ThreadCount one(1);
  const std::vector<Tensor> all = run(0, 512);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    for (const int64_t m : kRowCounts) {
      const int64_t begin = (512 - m) / 2;
      const std::vector<Tensor> some = run(begin, m);
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(same_bits(some[i], all[i].narrow(0, begin, m)))
            << m << " tokens, " << threads << " threads, result " << i;
      }
    }
  }
}

TEST_P(RouterTest, ExtremeLogitsGiveFiniteWeightsAndGradients) {
  const RouterArgs& args = GetParam().args;
  Tensor x = logits(6);
  x[0].fill_(-80);
  x[1].fill_(-1e4);
  x[2].fill_(1e4);
  x[3].fill_(0);
  x[4] *= 1e3;
  x[5][1] = -std::numeric_limits<float>::infinity();
  const Tensor leaf = x.clone().set_requires_grad(true);
  const Routing ours = route(leaf, bias(), args);
  EXPECT_TRUE(at::isfinite(ours.weights).all().item<bool>());
  const Tensor d = gradient(ours.weights, leaf, at::ones_like(ours.weights));
  const Tensor ordinary = at::tensor({0, 2, 3}, at::kLong);
  EXPECT_TRUE(at::isfinite(d.index_select(0, ordinary)).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Families, RouterTest, testing::ValuesIn(families()), [](const auto& info) {
      return info.param.name;
    });

TEST(RouterChoice, OfEqualScoresTheLowerIndexIsTaken) {
  const RouterArgs args{.score = RouterScore::kSigmoid, .top_k = 3};
  const Tensor x = at::tensor({1.F, 2.F, 2.F, 0.F, 2.F, 2.F}).view({1, 6});
  EXPECT_TRUE(
      route(x, Tensor(), args).experts.flatten().equal(at::tensor({1, 2, 4}, at::kLong)));
  // -0 and 0 are equal.
  const RouterArgs raw{.score = RouterScore::kSoftmaxOfChosen, .top_k = 2};
  const Tensor zeros = at::tensor({-1.F, -0.F, 0.F, -0.F}).view({1, 4});
  EXPECT_TRUE(
      route(zeros, Tensor(), raw).experts.flatten().equal(at::tensor({1, 2}, at::kLong)));
}

TEST(RouterChoice, OfEqualGroupsTheLowerIndexIsTaken) {
  const RouterArgs args{
      .score = RouterScore::kSigmoid, .top_k = 3, .num_groups = 4, .kept_groups = 2};
  // Sums of two: 3, 5, 5, 5 in the order of the logits.
  const Tensor x =
      at::tensor({1.F, 2.F, 3.F, 2.F, 2.F, 3.F, 3.F, 2.F}).view({1, 8}).contiguous();
  EXPECT_TRUE(
      route(x, Tensor(), args).experts.flatten().equal(at::tensor({2, 5, 3}, at::kLong)));
}

TEST(RouterChoice, TheBiasChoosesButDoesNotWeigh) {
  const RouterArgs args{.score = RouterScore::kSigmoid, .top_k = 2, .renormalize = true};
  const Tensor x = at::tensor({0.5F, 0.F, -0.5F, -1.F}).view({1, 4});
  const Tensor bias = at::tensor({-1.F, 0.F, 0.F, 1.F});
  const Routing r = route(x, bias, args);
  EXPECT_TRUE(r.experts.flatten().equal(at::tensor({3, 1}, at::kLong)));
  const double a = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(r.weights[0][0].item<double>(), a / (a + 0.5), 1e-6);
  EXPECT_NEAR(r.weights[0][1].item<double>(), 0.5 / (a + 0.5), 1e-6);
}

TEST(RouterChoice, NanIsChosenSoThatItShows) {
  for (const float nan : {NAN, -NAN}) {
    const RouterArgs args{.score = RouterScore::kSigmoid, .top_k = 2};
    Tensor x = at::arange(8, at::kFloat).view({1, 8}).contiguous();
    x[0][3] = nan;
    const Routing r = route(x, Tensor(), args);
    EXPECT_TRUE(r.experts.flatten().equal(at::tensor({3, 7}, at::kLong)));
    EXPECT_TRUE(r.weights[0][0].isnan().item<bool>());
    // Also a whole row of it: different experts that exist.
    const Routing all = route(x.fill_(nan), Tensor(), args);
    EXPECT_TRUE(all.experts.flatten().equal(at::tensor({0, 1}, at::kLong)));
  }
}

TEST(RouterChoice, ARowOfASoftmaxWithNanIsNan) {
  Tensor x = at::zeros({1, 40});
  x[0][17] = NAN;
  const Routing r = route(x, Tensor(), {.score = RouterScore::kSoftmax, .top_k = 2});
  EXPECT_TRUE(r.weights.isnan().all().item<bool>());
}

TEST(RouterChoice, AnExpertMayBeGivenTwice) {
  const RouterArgs args{.score = RouterScore::kSigmoid, .top_k = 2};
  const Tensor x = at::zeros({1, 3}).set_requires_grad(true);
  const Tensor weights = route_to(x, at::tensor({1, 1}, at::kLong).view({1, 2}), args);
  const Tensor d = gradient(weights, x, at::ones({1, 2}));
  EXPECT_TRUE(d.flatten().equal(at::tensor({0.F, 0.5F, 0.F})));
}

TEST(RouterChoice, NoTokensGiveNoChoice) {
  const Routing r = route(at::zeros({0, 4}), Tensor(), {.top_k = 2});
  EXPECT_EQ(r.experts.sizes(), at::IntArrayRef({0, 2}));
  EXPECT_EQ(r.weights.sizes(), at::IntArrayRef({0, 2}));
}

TEST(RouterChoice, WhatDoesNotFitIsRefused) {
  const auto message = [](const RouterArgs& args) -> std::string {
    try {
      route(at::zeros({2, 6}), Tensor(), args);
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "no error";
  };
  EXPECT_EQ(
      message({.top_k = 7}),
      "[router] expected top_k from 1 to the 6 experts that may be chosen, got 7");
  EXPECT_EQ(
      message({.top_k = 3, .num_groups = 3, .kept_groups = 1}),
      "[router] expected top_k from 1 to the 2 experts that may be chosen, got 3");
  EXPECT_EQ(
      message({.num_groups = 4, .kept_groups = 1}),
      "[router] expected 6 experts in equal groups of at least 2, of which some are "
      "kept; "
      "got 4 groups, 1 kept");
  EXPECT_EQ(
      message({.num_groups = 6, .kept_groups = 1}),
      "[router] expected 6 experts in equal groups of at least 2, of which some are "
      "kept; "
      "got 6 groups, 1 kept");
  EXPECT_EQ(
      message({.score = RouterScore::kSoftmaxOfChosen, .renormalize = true}),
      "[router] a softmax of the chosen experts sums to 1: it takes no renormalize");
  EXPECT_THROW(route(at::zeros({2, 6}), at::zeros({5}), {}), c10::Error);
  EXPECT_THROW(route_to(at::zeros({2, 6}), at::full({2, 1}, 6), {}), c10::Error);
  EXPECT_THROW(route_to(at::zeros({2, 6}), at::full({2, 1}, -1), {}), c10::Error);
  EXPECT_THROW(route_to(at::zeros({2, 6}), at::zeros({2, 2}, at::kLong), {}), c10::Error);
}

}  // namespace
}  // namespace titan::ops
