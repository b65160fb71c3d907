#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/nn/block.h"

namespace titan::nn {

enum class RotaryScaling { kNone, kLlama3, kYarn };

constexpr auto enum_names(RotaryScaling) {
  return std::array{
      std::pair{RotaryScaling::kNone, std::string_view("none")},
      std::pair{RotaryScaling::kLlama3, std::string_view("llama3")},
      std::pair{RotaryScaling::kYarn, std::string_view("yarn")}};
}

// Rotary frequencies as Hugging Face's `rope_parameters` states them.
struct RotaryConfig {
  double theta = 10000;
  RotaryScaling scaling = RotaryScaling::kNone;
  double factor = 1;
  int64_t original_context = 0;
  double low_frequency_factor = 1;   // llama3
  double high_frequency_factor = 4;  // llama3
  double beta_fast = 32;             // yarn
  double beta_slow = 1;              // yarn
  double attention_factor = 0;       // yarn; 0 = 0.1 ln(factor) + 1
  bool truncate = true;              // yarn: whole-number correction range

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("theta", self.theta, "base of the frequencies");
    visit("scaling", self.scaling, "how frequencies change for longer contexts");
    visit("factor", self.factor, "context extension (llama3, yarn)");
    visit(
        "original_context",
        self.original_context,
        "context before the extension, tokens");
    visit("low_frequency_factor", self.low_frequency_factor, "llama3: lower bound");
    visit("high_frequency_factor", self.high_frequency_factor, "llama3: upper bound");
    visit("beta_fast", self.beta_fast, "yarn: rotations above which nothing is scaled");
    visit("beta_slow", self.beta_slow, "yarn: rotations below which all is scaled");
    visit("attention_factor", self.attention_factor, "yarn: 0 = 0.1 ln(factor) + 1");
    visit(
        "truncate",
        self.truncate,
        "yarn: round the correction range to whole dimensions");
  }
};

// Angles of one head dimension. Immutable.
//   default: f_i = theta^(-2i/D)
//   llama3: wavelengths above original/low are divided by factor, those below
//   original/high
//     kept, the band between blended linearly (Llama 3.1).
//   yarn: interpolation and extrapolation blended over a range of dimensions (Peng et al.
//   2023).
// Frequencies and angles are rounded to fp32 as in Hugging Face's implementations, on
// which the released weights were trained.
class RotaryTable {
 public:
  RotaryTable(const RotaryConfig& config, int64_t head_dim);

  // positions int64 [T] -> cosine and sine fp32 [T, D/2], times the attention factor.
  [[nodiscard]] Rotary at(const Tensor& positions) const;

  [[nodiscard]] const std::vector<float>& frequencies() const { return frequencies_; }

 private:
  std::vector<float> frequencies_;
  float attention_factor_ = 1;
};

}  // namespace titan::nn
