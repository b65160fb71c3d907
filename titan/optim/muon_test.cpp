#include "titan/optim/muon.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/ops/muon.h"
#include "titan/optim/clip.h"

namespace titan::optim {
namespace {

// A model with every kind of parameter.
struct Model {
  parallel::ParameterStore store{at::kFloat};

  Model() {
    const nn::Init init = nn::Init::normal(0.1);
    store.declare(0, {"embed.weight", {9, 6}, init});
    store.declare(1, {"a.wide.weight", {4, 6}, init});
    store.declare(1, {"a_norm.weight", {6}, nn::Init::ones()});
    store.declare(1, {"a.tall.weight", {6, 4}, init});
    store.declare(1, {"a.experts.weight", {3, 4, 6}, init});
    store.declare(2, {"b.wide.weight", {4, 6}, init});
    store.declare(2, {"b.gate.weight", {1, 6}, init});
    store.declare(3, {"head.weight", {9, 6}, init});
    store.materialize();
    store.initialize(3);
  }

  // Gradients that differ by parameter and by step.
  void set_gradients(int step) {
    for (const auto& parameter : store.parameters()) {
      const auto n = static_cast<double>(parameter.numel());
      const Tensor ramp = at::linspace(-1, 1 + 0.1 * step, parameter.numel());
      parameter.bucket->add_grad(
          parameter.index, (ramp * n).sin().view(parameter.shape()));
    }
  }

  [[nodiscard]] Tensor master(const std::string& name) const {
    return store.find(name)->master();
  }
};

Tensor exact(const Tensor& x) {
  return x.to(at::kDouble, false, /*copy=*/true);
}

TEST(Muon, MatchesTheFormulaForMatricesAndAdamWForTheRest) {
  const double scales[] = {1.0, 0.2 * std::sqrt(6.0), std::sqrt(4.0 / 6)};
  const double tall_scales[] = {
      std::sqrt(6.0 / 4), 0.2 * std::sqrt(6.0), std::sqrt(6.0 / 4)};
  for (const MuonScale scale :
       {MuonScale::kOriginal, MuonScale::kMatchRms, MuonScale::kSpectral}) {
    Model model;
    Model rest;
    MuonConfig config{
        .lr = 0.02,
        .weight_decay = 0.5,
        .scale = scale,
        .iteration = Precision::kFp32,
        .adamw = {.lr = 0.003}};
    Muon muon(config, model.store);
    AdamW adamw({.lr = 0.003}, rest.store);
    const auto which = static_cast<size_t>(scale);
    Tensor expected = exact(model.master("a.tall.weight"));
    Tensor experts = exact(model.master("a.experts.weight"));
    Tensor momentum = at::zeros_like(expected);
    Tensor expert_momentum = at::zeros_like(experts);
    for (int step = 0; step < 3; ++step) {
      model.set_gradients(step);
      rest.set_gradients(step);
      const auto move =
          [&](const std::string& name, Tensor& m, Tensor& p, double factor) {
            Tensor update = at::empty_like(m);
            const Tensor g = exact(model.store.find(name)->gradient());
            ops::muon_momentum_plain({.gradient_scale = 0.5}, g, m, update);
            const Tensor matrices = update.dim() == 2 ? update.unsqueeze(0) : update;
            const Tensor direction =
                ops::orthogonalize_plain(matrices, {}).view_as(update);
            p = p * (1 - 0.01 * 0.5) - 0.01 * factor * direction;
          };
      move("a.tall.weight", momentum, expected, tall_scales[which]);
      move("a.experts.weight", expert_momentum, experts, scales[which]);
      muon.step(0.01, 0.5);
      adamw.step(0.0015, 0.5);  // half of the peak rates
    }
    EXPECT_TRUE(at::allclose(exact(model.master("a.tall.weight")), expected, 1e-5, 1e-6));
    EXPECT_TRUE(
        at::allclose(exact(model.master("a.experts.weight")), experts, 1e-5, 1e-6));
    for (const char* name :
         {"embed.weight", "a_norm.weight", "b.gate.weight", "head.weight"}) {
      EXPECT_TRUE(model.master(name).equal(rest.master(name))) << name;
    }
    EXPECT_EQ(gradient_norm(model.store), 0) << "the step clears the gradients";
    EXPECT_EQ(muon.steps(), 3);
  }
}

TEST(Muon, GroupsHaveTheirOwnRateAndDecay) {
  Model model;
  Muon muon(
      {.lr = 0.02,
       .weight_decay = 0.5,
       .groups =
           {{.pattern = "a.wide*", .lr_scale = 0},
            {.pattern = "b.*", .weight_decay = 0.0}}},
      model.store);
  const Tensor frozen = model.master("a.wide.weight").clone();
  const Tensor before = model.master("b.wide.weight").clone();
  // No gradients: only decay moves a parameter.
  muon.step(0.02, 1);
  EXPECT_TRUE(model.master("a.wide.weight").equal(frozen));
  EXPECT_TRUE(model.master("b.wide.weight").equal(before));
  EXPECT_FALSE(model.master("a.tall.weight").equal(Model().master("a.tall.weight")));
}

TEST(Muon, StateRestoresTheSameSteps) {
  Model model;
  Model restored;
  const MuonConfig config{.lr = 0.02, .adamw = {.moments = Precision::kBf16}};
  Muon muon(config, model.store);
  for (int step = 0; step < 2; ++step) {
    model.set_gradients(step);
    muon.step(0.02, 1);
  }
  Muon other(config, restored.store);
  const std::vector<Optimizer::State> from = muon.state();
  const std::vector<Optimizer::State> to = other.state();
  ASSERT_EQ(from.size(), model.store.parameters().size());
  for (size_t i = 0; i < from.size(); ++i) {
    const auto& parameter = model.store.parameters()[i];
    EXPECT_EQ(from[i].name, parameter.name);
    EXPECT_EQ(from[i].first_moment.sizes(), at::IntArrayRef(parameter.shape()));
    to[i].first_moment.copy_(from[i].first_moment);
    const bool matrix = parameter.name.find("wide") != std::string::npos ||
                        parameter.name.find("tall") != std::string::npos ||
                        parameter.name.find("experts") != std::string::npos;
    EXPECT_EQ(from[i].second_moment.defined(), !matrix) << parameter.name;
    if (!matrix) {
      EXPECT_EQ(from[i].second_moment.scalar_type(), at::kBFloat16);
      to[i].second_moment.copy_(from[i].second_moment);
    }
    restored.store.parameters()[i].master().copy_(parameter.master());
  }
  other.set_steps(muon.steps());
  model.set_gradients(2);
  muon.step(0.02, 1);
  restored.set_gradients(2);
  other.step(0.02, 1);
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_TRUE(restored.store.parameters()[i].master().equal(
        model.store.parameters()[i].master()))
        << from[i].name;
  }
}

TEST(Muon, BatchesDoNotChangeBits) {
  // a.wide, b.wide and the experts are one batch; alone in a store, a matrix is its own.
  Model model;
  Muon muon({.lr = 0.02}, model.store);
  model.set_gradients(0);
  parallel::ParameterStore alone(at::kFloat);
  alone.declare(0, {"embed.weight", {9, 6}, nn::Init::zeros()});
  alone.declare(0, {"head.weight", {9, 6}, nn::Init::zeros()});
  alone.declare(1, {"b.wide.weight", {4, 6}, nn::Init::zeros()});
  alone.declare(1, {"norm.weight", {6}, nn::Init::ones()});
  alone.materialize();
  alone.find("b.wide.weight")->master().copy_(model.master("b.wide.weight"));
  alone.find("b.wide.weight")
      ->bucket->add_grad(
          alone.find("b.wide.weight")->index,
          model.store.find("b.wide.weight")->gradient());
  Muon single({.lr = 0.02}, alone);
  muon.step(0.02, 1);
  single.step(0.02, 1);
  EXPECT_TRUE(alone.find("b.wide.weight")->master().equal(model.master("b.wide.weight")));
}

TEST(Muon, PatternsThatMatchNothingAreRefused) {
  const auto message = [](const MuonConfig& config) -> std::string {
    Model model;
    try {
      Muon muon(config, model.store);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      message({.groups = {{.pattern = "a.wide*"}, {.pattern = "embed.*"}}}),
      "optimizer.groups.1.pattern: \"embed.*\" matches no parameter, e.g. a.wide.weight");
  EXPECT_EQ(
      message({.adamw_matrices = {"head.*", "tail.*"}}),
      "optimizer.adamw_matrices.1: \"tail.*\" matches no parameter, e.g. embed.weight");
  EXPECT_EQ(
      message({.adamw = {.groups = {{.pattern = "a.wide*"}}}}),
      "optimizer.adamw.groups.0.pattern: \"a.wide*\" matches no parameter, e.g. "
      "embed.weight");
}

}  // namespace
}  // namespace titan::optim
