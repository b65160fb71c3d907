#include "titan/observe/flops.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace titan::observe {
namespace {

constexpr TransformerCost kCost = {
    .active_parameters = 1000, .layers = 2, .heads = 3, .qk_dim = 5, .v_dim = 7};

TEST(Flops, PerTokenFollowsTheFormula) {
  EXPECT_EQ(flops_per_token(kCost, 0), 6000.0);
  EXPECT_EQ(flops_per_token(kCost, 10), 6000.0 + 6.0 * 2 * 3 * (5 + 7) * 10);
}

TEST(Flops, DocumentsCountAttendedPairs) {
  // 1 + 2 + 3 pairs, and 1 pair.
  const std::array<int64_t, 2> lengths = {3, 1};
  EXPECT_EQ(
      flops_of_documents(kCost, lengths), 6000.0 * 4 + 6.0 * 2 * 3 * (5 + 7) * (6 + 1));
  EXPECT_EQ(flops_of_documents(kCost, {}), 0.0);
}

TEST(Flops, OneLongDocumentCostsAboutHalfOfTheUsualAttention) {
  constexpr TransformerCost kAttention = {
      .active_parameters = 0, .layers = 80, .heads = 128, .qk_dim = 192, .v_dim = 128};
  const std::vector<int64_t> length = {1'000'000};
  EXPECT_NEAR(
      flops_of_documents(kAttention, length) /
          (1e6 * flops_per_token(kAttention, 1'000'000)),
      0.5,
      1e-6);
}

TEST(Flops, MfuIsAFraction) {
  EXPECT_EQ(mfu(25.0, 100.0), 0.25);
}

}  // namespace
}  // namespace titan::observe
