#include "titan/data/permutation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace titan::data {
namespace {

std::vector<uint64_t> order_of(uint64_t n, uint64_t seed, uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<uint64_t> order(n);
  for (uint64_t i = 0; i < n; ++i) {
    order[i] = permutation(i);
  }
  return order;
}

TEST(Permutation, IsOneForEverySize) {
  for (uint64_t n = 1; n <= 300; ++n) {
    std::vector<uint64_t> order = order_of(n, 3, n);
    std::ranges::sort(order);
    std::vector<uint64_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(order, all) << n;
  }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(order_of(1000, 1, 2), order_of(1000, 1, 2));
  EXPECT_NE(order_of(1000, 1, 2), order_of(1000, 1, 3));
  EXPECT_NE(order_of(1000, 1, 2), order_of(1000, 2, 2));
}

// Each place holds each value about equally often: chi squared over 5 x 5 cells with 16
// degrees of freedom is above 50 by chance once in 40,000 times.
TEST(Permutation, IsUniform) {
  constexpr int kEpochs = 5000;
  double counts[5][5] = {};
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<uint64_t> order = order_of(5, 11, epoch);
    for (size_t place = 0; place < 5; ++place) {
      counts[place][order[place]] += 1;
    }
  }
  double chi_squared = 0;
  for (const auto& row : counts) {
    for (const double count : row) {
      const double difference = count - kEpochs / 5.0;
      chi_squared += difference * difference / (kEpochs / 5.0);
    }
  }
  EXPECT_LT(chi_squared, 50);
}

TEST(Permutation, ReachesBeyond32Bits) {
  const uint64_t n = (uint64_t{1} << 40) + 12345;
  const Permutation permutation(n, 5, 0);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_LT(permutation(n - 1 - i), n);
  }
  EXPECT_NE(permutation(0), permutation(1));
}

}  // namespace
}  // namespace titan::data
