#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace titan::optim {

enum class Decay { kLinear, kSqrt, kCosine };

constexpr auto enum_names(Decay) {
  return std::array{
      std::pair{Decay::kLinear, std::string_view("linear")},
      std::pair{Decay::kSqrt, std::string_view("sqrt")},
      std::pair{Decay::kCosine, std::string_view("cosine")}};
}

// Warm-up, stable, decay.
struct ScheduleConfig {
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;  // 0 = train.steps
  std::optional<double>
      decay_ratio;  // share of all steps that decay; null = all after warm-up
  Decay decay = Decay::kLinear;
  double min_lr_factor = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("warmup_steps", self.warmup_steps, "steps of linear warm-up");
    visit("total_steps", self.total_steps, "length of the schedule; 0 = train.steps");
    visit(
        "decay_ratio",
        self.decay_ratio,
        "share of steps that decay; null = all after warm-up");
    visit("decay", self.decay, "shape of the decay");
    visit("min_lr_factor", self.min_lr_factor, "factor that the decay approaches");
  }

  template <class Problems>
  static void check(const ScheduleConfig& self, Problems& problems) {
    problems.expect(self.warmup_steps >= 0, "warmup_steps", ">= 0", self.warmup_steps);
    problems.expect(self.total_steps >= 0, "total_steps", ">= 0", self.total_steps);
    problems.expect(
        !self.decay_ratio || (*self.decay_ratio >= 0 && *self.decay_ratio <= 1),
        "decay_ratio",
        "within 0 and 1",
        self.decay_ratio);
    problems.expect(
        self.min_lr_factor >= 0 && self.min_lr_factor <= 1,
        "min_lr_factor",
        "within 0 and 1",
        self.min_lr_factor);
  }
};

// What the base learning rate is multiplied by at 0-based step i of `total`:
//   W = min(warmup, total); D = total - W, or round(total * decay_ratio) at most total -
//   W; S = total + 1 - W - D; i < W: (i + 1) / W;   i < W + S: 1;   else with p = (i + 1
//   - W - S) / D m + (1 - m) f, f = 1 - p | 1 - sqrt(p) | (1 + cos(pi p)) / 2, m =
//   min_lr_factor.
// The warm-up ends at exactly 1, and the rate of the last step is above m.
[[nodiscard]] double lr_factor(const ScheduleConfig& config, int64_t total, int64_t i);

}  // namespace titan::optim
