#include "titan/observe/machine.h"

#include <vector>

#include <gtest/gtest.h>

namespace titan::observe {
namespace {

TEST(Machine, MemoryUseFollowsWhatIsTouched) {
  constexpr int64_t kBytes = 64 << 20;
  const MemoryUse before = memory_use();
  {
    const std::vector<char> touched(kBytes, 1);
    const MemoryUse during = memory_use();
    EXPECT_GE(during.rss_bytes, before.rss_bytes + kBytes / 2);
    EXPECT_GE(touched.back(), 1);
  }
  const MemoryUse after = memory_use();
  EXPECT_GE(after.peak_rss_bytes, before.rss_bytes + kBytes / 2);
  EXPECT_GE(after.peak_rss_bytes, after.rss_bytes);
}

TEST(Machine, IsDescribed) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, memory_use().rss_bytes);
  EXPECT_EQ(machine_text({"Some CPU", 2, 33'500'000'000}), "Some CPU, 2 cores, 33.5 GB");
  EXPECT_EQ(machine_text({"Some CPU", 1, 512}), "Some CPU, 1 core, 512 B");
}

}  // namespace
}  // namespace titan::observe
