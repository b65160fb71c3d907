#pragma once
// The progress line of a training run.

#include <cstdint>
#include <limits>
#include <string>

namespace titan::observe {

struct Progress {
  int64_t step = 0;   // done so far
  int64_t steps = 0;  // in the whole run
  double loss = 0;
  double grad_norm = 0;
  double lr = 0;
  double tokens_per_second = 0;
  // Fraction of the machine's peak; NaN (unknown) is left out.
  double mfu = std::numeric_limits<double>::quiet_NaN();
  int64_t memory_bytes = 0;
  double seconds_left = 0;
};

// One line of at most 110 columns:
// "step 120/1000  loss 3.2184  grad 0.812  lr 8.00e-04  12.3k tok/s  MFU 41.2%  3.4 GB
//  ETA 1m20s"
[[nodiscard]] std::string progress_line(const Progress& progress);

}  // namespace titan::observe
