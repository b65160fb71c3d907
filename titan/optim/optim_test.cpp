#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/ops/adamw.h"
#include "titan/optim/adamw.h"
#include "titan/optim/clip.h"
#include "titan/optim/schedule.h"

namespace titan::optim {
namespace {

std::vector<double> factors(const ScheduleConfig& config, int64_t total) {
  std::vector<double> values;
  for (int64_t i = 0; i < total; ++i) {
    values.push_back(lr_factor(config, total, i));
  }
  return values;
}

TEST(Schedule, DecaysFromTheWarmUpToTheEnd) {
  const std::vector<double> expected = {
      .5, 1, 1, 7. / 8, 6. / 8, 5. / 8, 4. / 8, 3. / 8, 2. / 8, 1. / 8};
  const std::vector<double> got = factors({.warmup_steps = 2}, 10);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(got[i], expected[i]) << i;
  }
}

TEST(Schedule, StaysStableUntilTheDecayShareBegins) {
  const std::vector<double> got =
      factors({.warmup_steps = 1, .decay_ratio = 0.4, .min_lr_factor = 0.1}, 10);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_DOUBLE_EQ(got[i], 1) << i;
  }
  EXPECT_DOUBLE_EQ(got[7], 0.1 + 0.9 * 0.75);
  EXPECT_DOUBLE_EQ(got[9], 0.1 + 0.9 * 0.25);
}

TEST(Schedule, ShapesAndDegenerateLengths) {
  const ScheduleConfig cosine{.decay = Decay::kCosine};
  EXPECT_NEAR(lr_factor(cosine, 4, 2), 0.5, 1e-15);
  const ScheduleConfig root{.decay = Decay::kSqrt};
  EXPECT_DOUBLE_EQ(lr_factor(root, 4, 1), 0.5);
  EXPECT_DOUBLE_EQ(lr_factor({.warmup_steps = 5}, 2, 1), 1);
  EXPECT_DOUBLE_EQ(lr_factor({.decay_ratio = 0.0}, 3, 2), 1);
}

struct TwoParameters {
  parallel::ParameterStore store{at::kFloat};
  ops::Weight matrix = store.declare(0, {"w.weight", {3, 5}, nn::Init::normal(1)});
  ops::Weight norm = store.declare(1, {"a_norm.weight", {7}, nn::Init::ones()});

  TwoParameters() {
    store.materialize();
    store.initialize(3);
  }

  void set_gradients() {
    matrix.handle.source->add_grad(0, at::linspace(-1, 1, 15).view({3, 5}));
    norm.handle.source->add_grad(0, at::linspace(0, 2, 7));
  }
};

TEST(AdamW, MatchesTheFormulaAndSkipsDecayOfNorms) {
  TwoParameters p;
  const Tensor matrix = p.store.find("w.weight")->master().clone();
  const Tensor norm = p.store.find("a_norm.weight")->master().clone();
  p.set_gradients();
  AdamW adamw({.lr = 0.1, .weight_decay = 0.5}, p.store);
  adamw.step(0.1, 1.0);
  // After one step the corrected moments are g and g^2: the update is lr * (sign(g) + wd
  // * w).
  const Tensor g = at::linspace(-1, 1, 15).view({3, 5});
  const Tensor expected = matrix - 0.1 * (g / (g.abs() + 1e-8) + 0.5 * matrix);
  EXPECT_TRUE(at::allclose(p.store.find("w.weight")->master(), expected, 1e-5, 1e-6));
  const Tensor h = at::linspace(0, 2, 7);
  const Tensor norm_expected = norm - 0.1 * (h / (h.abs() + 1e-8));
  EXPECT_TRUE(
      at::allclose(p.store.find("a_norm.weight")->master(), norm_expected, 1e-5, 1e-6));
  EXPECT_EQ(gradient_norm(p.store), 0) << "the step clears the gradients";
}

TEST(AdamW, Bf16MomentsHalveTheStateAndStayNearFp32) {
  TwoParameters narrow;
  TwoParameters wide;
  AdamW a({.lr = 0.01, .moments = Precision::kBf16}, narrow.store);
  AdamW b({.lr = 0.01}, wide.store);
  for (int step = 0; step < 5; ++step) {
    narrow.set_gradients();
    wide.set_gradients();
    a.step(0.01, 1.0);
    b.step(0.01, 1.0);
  }
  EXPECT_EQ(a.state()[0].first_moment.scalar_type(), at::kBFloat16);
  EXPECT_EQ(a.state()[0].second_moment.scalar_type(), at::kBFloat16);
  const Tensor p = narrow.store.find("w.weight")->master();
  const Tensor q = wide.store.find("w.weight")->master();
  EXPECT_FALSE(p.equal(q));
  EXPECT_TRUE(at::allclose(p, q, 0, 0.01 * 0.02));
}

TEST(AdamW, GroupThatMatchesNothingIsRefused) {
  TwoParameters p;
  try {
    AdamW adamw({.groups = {{.pattern = "*.bias"}}}, p.store);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "optimizer.groups.0.pattern: \"*.bias\" matches no parameter, e.g. w.weight");
  }
}

TEST(Clip, NormAndScale) {
  TwoParameters p;
  p.set_gradients();
  const double expected = std::sqrt(
      at::linspace(-1, 1, 15).to(at::kDouble).square().sum().item<double>() +
      at::linspace(0, 2, 7).to(at::kDouble).square().sum().item<double>());
  EXPECT_NEAR(gradient_norm(p.store), expected, 1e-6);
  EXPECT_DOUBLE_EQ(clip_scale(2, 1), 1 / (2 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_scale(0.5, 1), 1);
  EXPECT_DOUBLE_EQ(clip_scale(1e9, 0), 1);
}

TEST(Clip, NamesTheParameterWithANonFiniteGradient) {
  TwoParameters p;
  p.set_gradients();
  EXPECT_EQ(non_finite_gradient(p.store), "");
  p.norm.handle.source->add_grad(
      0, at::full({7}, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(non_finite_gradient(p.store), "a_norm.weight");
  EXPECT_FALSE(std::isfinite(gradient_norm(p.store)));
}

}  // namespace
}  // namespace titan::optim
