#pragma once

#include <cstdint>

#include "titan/train/config.h"

namespace titan::train {

struct TrainBench {
  double tokens_per_second = 0;
  double step_seconds = 0;
  double gradient_seconds = 0;  // forward and backward
  double update_seconds = 0;    // gradient norm and optimizer
  double peak_flops = 0;        // measured matrix product rate
  double mfu = 0;
  int64_t peak_rss_bytes = 0;  // of the whole process
  double loss = 0;             // of the last step
};

struct DataBench {
  double open_seconds = 0;       // until the loader could give its first batch
  double tokens_per_second = 0;  // of the packed batches, filling included
  double filling_share = 0;      // of those tokens
};

// Takes batches of config.data for some seconds and does nothing with them.
[[nodiscard]] DataBench bench_data(const TrainConfig& config);

// Trains `steps` steps of the config after two to warm up, without a run folder,
// checkpoints or validation, and gives medians.
[[nodiscard]] TrainBench bench_train(const TrainConfig& config, int64_t steps);

}  // namespace titan::train
