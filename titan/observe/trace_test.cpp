#include "titan/observe/trace.h"

#include <csignal>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "titan/base/error.h"

namespace titan::observe {
namespace {

fs::path scratch_file(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_trace_test";
  fs::create_directories(folder);
  return folder / name;
}

TEST(Trace, SpansOfAllThreadsBecomeEvents) {
  const fs::path path = scratch_file("threads.json");
  start_trace(path);
  {
    Span outer("outer");
    outer.arg("tokens", 4096);
    outer.arg("kind", "train");
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int k = 0; k < 100; ++k) {
          const Span inner("inner");
        }
      });
    }
  }
  stop_trace();
  const Json events = read_json_file(path);
  ASSERT_EQ(events.size(), 402U);  // the process name, 400 inner, 1 outer
  std::set<int64_t> threads;
  const Json outer = events.back();
  EXPECT_EQ(outer["name"], "outer");
  EXPECT_EQ(outer["args"], (Json{{"tokens", 4096}, {"kind", "train"}}));
  for (size_t i = 1; i + 1 < events.size(); ++i) {
    const Json& event = events[i];
    EXPECT_EQ(event["name"], "inner");
    EXPECT_EQ(event["ph"], "X");
    EXPECT_FALSE(event.contains("args"));
    EXPECT_GE(event["ts"].get<double>(), outer["ts"].get<double>());
    EXPECT_LE(
        event["ts"].get<double>() + event["dur"].get<double>(),
        outer["ts"].get<double>() + outer["dur"].get<double>());
    threads.insert(event["tid"].get<int64_t>());
  }
  EXPECT_EQ(threads.size(), 4U);
}

TEST(Trace, IsOffByDefaultAndAfterStop) {
  const fs::path path = scratch_file("off.json");
  { const Span before("before"); }
  start_trace(path);
  stop_trace();
  { const Span after("after"); }
  stop_trace();
  EXPECT_EQ(read_json_file(path).size(), 1U);
}

TEST(Trace, WhatAKillLeavesIsWholeLines) {
  const fs::path path = scratch_file("killed.json");
  start_trace(path);
  { const Span span("step"); }
  const std::string torn = read_file(path);
  stop_trace();
  EXPECT_EQ(parse_json(torn + "]", "repaired").size(), 2U);
}

// A span ends in a destructor, which cannot throw.
TEST(Trace, AFailedWriteIsReportedAtTheEnd) {
  start_trace(scratch_file("full.json"));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 16, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  { const Span span("step"); }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THROW(stop_trace(), EnvironmentError);
  EXPECT_NO_THROW(stop_trace());
}

}  // namespace
}  // namespace titan::observe
