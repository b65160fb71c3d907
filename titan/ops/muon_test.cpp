#include "titan/ops/muon.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

class OrthogonalizeTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  [[nodiscard]] static NewtonSchulzArgs args() { return {.dtype = GetParam()}; }
};

TEST_P(OrthogonalizeTest, MatchesTheOracle) {
  for (const auto& [n, k] :
       {std::pair{1, 1},
        {3, 70},
        {70, 3},
        {64, 64},
        {100, 300},
        {300, 100},
        {33, 1100}}) {
    SCOPED_TRACE(testing::Message() << n << " x " << k);
    const Tensor updates = test_tensor({3, n, k}, at::kFloat, 0.01);
    const Tensor ours = orthogonalize(updates, args());
    ASSERT_EQ(ours.scalar_type(), GetParam());
    ASSERT_TRUE(ours.is_contiguous());
    const Tensor library = orthogonalize_plain(updates.to(GetParam()), args());
    const Tensor exact = orthogonalize_plain(updates.to(at::kDouble), args());
    // A step multiplies what a rounding loses in a small singular value by up to a = 3.4:
    // a few units in the last place, and as many of luck.
    const double floor = GetParam() == at::kFloat ? 1e-6 : 1.6e-2;
    EXPECT_TRUE(no_worse(ours, library, exact, floor));
  }
}

TEST_P(OrthogonalizeTest, SingularValuesEndAroundOne) {
  // Of singular values from 0.02 on of a matrix of norm 1, the quintic leaves 0.68
  // to 1.14.
  const Tensor basis =
      std::get<0>(at::linalg_qr(test_tensor({48, 48}, at::kDouble, 1), "reduced"));
  const Tensor other =
      std::get<0>(at::linalg_qr(test_tensor({120, 48}, at::kDouble, 1), "reduced"));
  const Tensor values = at::linspace(0.2, 1, 48, at::kDouble);
  const Tensor x = basis.mul(values).matmul(other.t()).to(at::kFloat);
  const Tensor got = orthogonalize(x.unsqueeze(0), args())[0].to(at::kDouble);
  const Tensor spectrum = at::linalg_svdvals(got);
  EXPECT_GT(spectrum.min().item<double>(), 0.66);
  EXPECT_LT(spectrum.max().item<double>(), 1.16);
  // The singular vectors stay: in their bases the result is diagonal.
  const Tensor inner = basis.t().matmul(got).matmul(other);
  const Tensor off = inner - at::diag_embed(inner.diagonal());
  EXPECT_LT(off.abs().max().item<double>(), GetParam() == at::kFloat ? 1e-5 : 3e-2);
}

TEST_P(OrthogonalizeTest, AMatrixHasTheSameBitsBesideAnyOthersAndAtAnyThreadCount) {
  for (const auto& [n, k] : {std::pair{70, 300}, {300, 70}, {129, 129}}) {
    const Tensor updates = test_tensor({5, n, k}, at::kFloat, 1);
    const ThreadCount one(1);
    const Tensor all = orthogonalize(updates, args());
    for (const int threads : {1, 2, 3}) {
      const ThreadCount count(threads);
      EXPECT_TRUE(same_bits(orthogonalize(updates, args()), all)) << threads;
      for (int64_t i = 0; i < 5; ++i) {
        const Tensor alone = orthogonalize(updates.narrow(0, i, 1), args());
        EXPECT_TRUE(same_bits(alone[0], all[i])) << threads << " threads, matrix " << i;
      }
    }
  }
}

TEST_P(OrthogonalizeTest, TheScaleOfTheUpdateDoesNotMatter) {
  const Tensor updates = test_tensor({1, 20, 30}, at::kFloat, 1);
  const Tensor expected = orthogonalize(updates, args());
  EXPECT_TRUE(same_bits(orthogonalize(updates * 1024, args()), expected));
  EXPECT_TRUE(same_bits(orthogonalize(updates / 1024, args()), expected));
}

TEST_P(OrthogonalizeTest, ZeroStaysZeroAndNanShows) {
  EXPECT_TRUE(same_bits(
      orthogonalize(at::zeros({1, 4, 6}), args()), at::zeros({1, 4, 6}, GetParam())));
  Tensor bad = at::ones({2, 4, 6});
  bad[1][2][3] = NAN;
  const Tensor got = orthogonalize(bad, args());
  EXPECT_FALSE(got[0].isnan().any().item<bool>());
  EXPECT_TRUE(got[1].isnan().all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    OrthogonalizeTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(c10::toString(info.param)); });

TEST(MuonTest, MomentumMatchesTheOracle) {
  for (const bool nesterov : {false, true}) {
    for (const int64_t numel : {1, 17, 100003}) {
      const MuonMomentumArgs args{.nesterov = nesterov, .gradient_scale = 0.7};
      const Tensor start = test_tensor({numel}, at::kFloat, 0.1);
      std::vector<Tensor> momenta;
      std::vector<Tensor> updates;
      for (const at::ScalarType dtype : {at::kFloat, at::kFloat, at::kDouble}) {
        momenta.push_back(start.to(dtype, false, /*copy=*/true));
        updates.push_back(at::empty_like(momenta.back()));
      }
      for (int step = 0; step < 3; ++step) {
        const Tensor g = test_tensor({numel}, at::kFloat, 1);
        muon_momentum(args, g, momenta[0], updates[0]);
        muon_momentum_plain(args, g, momenta[1], updates[1]);
        muon_momentum_plain(args, g.to(at::kDouble), momenta[2], updates[2]);
      }
      EXPECT_TRUE(no_worse(momenta[0], momenta[1], momenta[2]));
      EXPECT_TRUE(no_worse(updates[0], updates[1], updates[2]));
    }
  }
}

TEST(MuonTest, TheStepDecaysAndMoves) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Tensor p = test_tensor({7, 33}, at::kFloat, 1);
    const Tensor direction = test_tensor({7, 33}, dtype, 1);
    const Tensor moved = p.clone();
    muon_step(0.02, 0.001, moved, direction);
    const Tensor exact =
        p.to(at::kDouble) * (1 - 0.001) - 0.02 * direction.to(at::kDouble);
    EXPECT_LT(relative_error(moved, exact), 2e-7);
  }
}

TEST(MuonTest, WhatDoesNotFitIsRefused) {
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "no error";
  };
  EXPECT_EQ(
      message([] {
        orthogonalize(at::zeros({4, 6}), {});
      }),
      "[orthogonalize] expected contiguous fp32 matrices [B, N, K], got Float [4, 6]");
  EXPECT_EQ(
      message([] {
        orthogonalize(at::zeros({1, 4, 6}), {.dtype = at::kHalf});
      }),
      "[orthogonalize] expected at least one step in fp32 or bf16, got 5 in Half");
  EXPECT_EQ(
      message([] { muon_step(1, 0, at::zeros({3}), at::zeros({4})); }),
      "[muon_step] expected contiguous fp32 [4], got Float [3]");
  EXPECT_EQ(
      message([] { muon_momentum({}, at::zeros({3}), at::zeros({3}), at::zeros({2})); }),
      "[muon_momentum] expected contiguous fp32 [3], got Float [2]");
}

}  // namespace
}  // namespace titan::ops
