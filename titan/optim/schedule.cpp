#include "titan/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace titan::optim {

double lr_factor(const ScheduleConfig& config, int64_t total, int64_t i) {
  const int64_t warmup = std::min(config.warmup_steps, total);
  int64_t decay = total - warmup;
  if (config.decay_ratio) {
    decay = std::min<int64_t>(
        std::llround(static_cast<double>(total) * *config.decay_ratio), decay);
  }
  const int64_t stable = total + 1 - warmup - decay;
  if (i < warmup) {
    return static_cast<double>(i + 1) / static_cast<double>(warmup);
  }
  if (i < warmup + stable) {
    return 1;
  }
  const double p = std::min(
      1.0, static_cast<double>(i + 1 - warmup - stable) / static_cast<double>(decay));
  double f = 0;
  switch (config.decay) {
    case Decay::kLinear:
      f = 1 - p;
      break;
    case Decay::kSqrt:
      f = 1 - std::sqrt(p);
      break;
    case Decay::kCosine:
      f = (1 + std::cos(std::numbers::pi * p)) / 2;
      break;
  }
  return config.min_lr_factor + (1 - config.min_lr_factor) * f;
}

}  // namespace titan::optim
