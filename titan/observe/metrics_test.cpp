#include "titan/observe/metrics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/json.h"

namespace titan::observe {
namespace {

fs::path scratch_file(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_metrics_test";
  fs::create_directories(folder);
  fs::remove(folder / name);
  return folder / name;
}

StepMetrics at_step(int64_t step) {
  StepMetrics metrics{.step = step, .values = {}};
  metrics.add("loss", 1.0 / static_cast<double>(step));
  return metrics;
}

TEST(Metrics, OneObjectInTheOrderOfTheValues) {
  StepMetrics metrics{.step = 3, .values = {}};
  metrics.add("loss", 2.5);
  metrics.add("tokens", 4096);
  metrics.add("odd \"name\"", -1);
  EXPECT_EQ(
      metrics_json(metrics), R"({"step":3,"loss":2.5,"tokens":4096,"odd \"name\"":-1})");
}

TEST(Metrics, NumbersReadBackToTheSameBits) {
  const std::vector<double> values = {
      0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, 100.0, 1e-7F};
  StepMetrics metrics;
  for (const double value : values) {
    metrics.add("v" + std::to_string(metrics.values.size()), value);
  }
  metrics.add("whole", std::numeric_limits<int64_t>::max());
  const Json read = parse_json(metrics_json(metrics), "line");
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(read["v" + std::to_string(i)].get<double>(), values[i]);
  }
  EXPECT_EQ(read["whole"].get<int64_t>(), std::numeric_limits<int64_t>::max());
}

TEST(Metrics, ValuesThatAreNotFiniteAreStrings) {
  StepMetrics metrics;
  metrics.add("a", std::nan(""));
  metrics.add("b", -std::numeric_limits<double>::infinity());
  EXPECT_EQ(metrics_json(metrics), R"({"step":0,"a":"NaN","b":"-Infinity"})");
}

TEST(MetricsLog, ResumeDropsLaterStepsAndATornLine) {
  const fs::path path = scratch_file("resume.jsonl");
  {
    MetricsLog log(path, 0);
    for (int64_t step = 1; step <= 4; ++step) {
      log.write(at_step(step));
    }
  }
  const std::string whole = read_file(path);
  OutputFile(path, OutputFile::Mode::kAppend).write(R"({"step":5,"lo)");
  {
    MetricsLog log(path, 4);
    EXPECT_EQ(read_file(path), whole);
  }
  {
    MetricsLog log(path, 2);
    log.write(at_step(3));
    log.write(at_step(4));
  }
  EXPECT_EQ(read_file(path), whole);
  MetricsLog fresh(path, 0);
  EXPECT_EQ(read_file(path), "");
}

TEST(MetricsLog, AForeignFileIsRefusedAndLeftAlone) {
  const fs::path path = scratch_file("foreign.jsonl");
  OutputFile(path).write("{\"step\":1}\n{\"loss\":1}\n");
  try {
    MetricsLog log(path, 5);
    FAIL() << "accepted";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.what(), path.string() + ":2: step: missing, expected an integer");
  }
  EXPECT_EQ(read_file(path), "{\"step\":1}\n{\"loss\":1}\n");
}

}  // namespace
}  // namespace titan::observe
