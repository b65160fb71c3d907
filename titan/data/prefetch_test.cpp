#include "titan/data/prefetch.h"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

namespace titan::data {
namespace {

TEST(Prefetcher, KeepsTheOrder) {
  for (const size_t depth : {0, 1, 3}) {
    int count = 0;
    Prefetcher<int> prefetcher([&] { return count++; }, depth);
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(prefetcher.next(), i) << depth;
    }
  }
}

TEST(Prefetcher, RethrowsAfterTheResultsBefore) {
  for (const size_t depth : {0, 1, 3}) {
    int count = 0;
    Prefetcher<int> prefetcher(
        [&] {
          if (count == 2) {
            throw std::runtime_error("third");
          }
          return count++;
        },
        depth);
    EXPECT_EQ(prefetcher.next(), 0);
    EXPECT_EQ(prefetcher.next(), 1);
    EXPECT_THROW((void)prefetcher.next(), std::runtime_error);
    EXPECT_THROW((void)prefetcher.next(), std::runtime_error);
  }
}

TEST(Prefetcher, IsBoundedAndStops) {
  std::atomic<int> made = 0;
  {
    Prefetcher<int> prefetcher([&] { return made++; }, 2);
    EXPECT_EQ(prefetcher.next(), 0);
    EXPECT_EQ(prefetcher.next(), 1);
  }
  EXPECT_LE(made, 5);  // two taken, two waiting, one under way
}

}  // namespace
}  // namespace titan::data
