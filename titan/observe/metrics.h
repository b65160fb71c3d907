#pragma once
// The numbers of one training step, and their log: one JSON object a line.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "titan/base/files.h"

namespace titan::observe {

struct Metric {
  std::string name;
  std::variant<int64_t, double> value;
};

// Named values of one step, in the order in which they are shown.
struct StepMetrics {
  int64_t step = 0;
  std::vector<Metric> values;

  void add(std::string name, std::variant<int64_t, double> value) {
    values.push_back({std::move(name), value});
  }
};

// `{"step":3,"loss":2.5}` without a line end. Numbers read back to the same bits; those
// that are not finite are the strings "NaN", "Infinity", "-Infinity".
[[nodiscard]] std::string metrics_json(const StepMetrics& metrics);

// metrics.jsonl of a run. Each line reaches the file with one write, so a kill leaves at
// most one torn line, the last. Not thread-safe.
class MetricsLog {
 public:
  // Continues `path` after step `last_step` of the checkpoint that the run resumes from
  // (0 for a new run): drops the lines of later steps and a torn last line. Throws
  // FormatError when the file holds something else than metrics.
  MetricsLog(const fs::path& path, int64_t last_step);

  // Appends one line. Throws EnvironmentError when the disk is full.
  void write(const StepMetrics& metrics);

 private:
  OutputFile file_;
};

}  // namespace titan::observe
