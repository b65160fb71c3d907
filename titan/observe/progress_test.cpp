#include "titan/observe/progress.h"

#include <cmath>

#include <gtest/gtest.h>

#include "titan/observe/format.h"

namespace titan::observe {
namespace {

TEST(Format, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(999.6), "1.0k");
  EXPECT_EQ(format_count(1234), "1.2k");
  EXPECT_EQ(format_count(99'960), "100k");
  EXPECT_EQ(format_count(999'600), "1.0M");
  EXPECT_EQ(format_count(34.5e6), "34.5M");
  EXPECT_EQ(format_count(1.2e16), "12000T");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(3'400'000'000), "3.4 GB");
  EXPECT_EQ(format_bytes(123'400'000'000), "123 GB");
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(59.4), "59s");
  EXPECT_EQ(format_duration(59.6), "1m00s");
  EXPECT_EQ(format_duration(80), "1m20s");
  EXPECT_EQ(format_duration(3599.7), "1h00m");
  EXPECT_EQ(format_duration(7500), "2h05m");
  EXPECT_EQ(format_duration(86'399), "1d00h");
  EXPECT_EQ(format_duration(3 * 86'400 + 4 * 3600), "3d04h");
  EXPECT_EQ(format_duration(-1), "-");
  EXPECT_EQ(format_duration(std::nan("")), "-");
  EXPECT_EQ(format_duration(HUGE_VAL), "-");
}

TEST(Progress, ShowsEverything) {
  Progress progress = {
      .step = 120,
      .steps = 1000,
      .loss = 3.21844,
      .grad_norm = 0.8119,
      .lr = 8e-4,
      .tokens_per_second = 12'345,
      .mfu = 0.4123,
      .memory_bytes = 3'400'000'000,
      .seconds_left = 80};
  EXPECT_EQ(
      progress_line(progress),
      "step 120/1000  loss 3.2184  grad 0.812  lr 8.00e-04  12.3k tok/s  MFU 41.2%  "
      "3.4 GB  ETA 1m20s");
  progress.mfu = std::nan("");
  progress.loss = 3;
  EXPECT_EQ(
      progress_line(progress),
      "step 120/1000  loss 3.0000  grad 0.812  lr 8.00e-04  12.3k tok/s  3.4 GB  "
      "ETA 1m20s");
}

TEST(Progress, NeverPassesTheWidthOfATerminal) {
  const Progress wide = {
      .step = 1'000'000'000,
      .steps = 1'000'000'000,
      .loss = 1e300,
      .grad_norm = 1e-300,
      .lr = 1e-300,
      .tokens_per_second = 999'000'000,
      .mfu = 1e3,
      .memory_bytes = INT64_MAX,
      .seconds_left = 9e8};
  EXPECT_EQ(progress_line(wide).size(), 110U);
  Progress unknown;
  unknown.loss = std::nan("");
  EXPECT_EQ(
      progress_line(unknown),
      "step 0/0  loss nan  grad 0.00  lr 0.00e+00  0 tok/s  0 B  ETA 0s");
}

}  // namespace
}  // namespace titan::observe
