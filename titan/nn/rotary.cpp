#include "titan/nn/rotary.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace titan::nn {
namespace {

constexpr double kTau = 2 * std::numbers::pi;

double llama3_frequency(double frequency, const RotaryConfig& c) {
  const double wavelength = kTau / frequency;
  const auto original = static_cast<double>(c.original_context);
  if (wavelength > original / c.low_frequency_factor) {
    return frequency / c.factor;
  }
  if (wavelength < original / c.high_frequency_factor) {
    return frequency;
  }
  const double smooth = (original / wavelength - c.low_frequency_factor) /
                        (c.high_frequency_factor - c.low_frequency_factor);
  return frequency * ((1 - smooth) / c.factor + smooth);
}

// The range of dimensions over which yarn goes from extrapolation to interpolation.
std::pair<double, double> yarn_range(const RotaryConfig& c, int64_t head_dim) {
  const auto dimension = [&](double rotations) {
    return static_cast<double>(head_dim) *
           std::log(static_cast<double>(c.original_context) / (rotations * kTau)) /
           (2 * std::log(c.theta));
  };
  double low = dimension(c.beta_fast);
  double high = dimension(c.beta_slow);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  return {std::max(low, 0.0), std::min(high, static_cast<double>(head_dim - 1))};
}

}  // namespace

RotaryTable::RotaryTable(const RotaryConfig& config, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  frequencies_.resize(static_cast<size_t>(half));
  std::pair<double, double> range;
  if (config.scaling == RotaryScaling::kYarn) {
    range = yarn_range(config, head_dim);
    attention_factor_ = static_cast<float>(
        config.attention_factor > 0 ? config.attention_factor
                                    : 0.1 * std::log(config.factor) + 1);
  }
  for (int64_t i = 0; i < half; ++i) {
    double frequency =
        1.0 /
        std::pow(
            config.theta, static_cast<double>(2 * i) / static_cast<double>(head_dim));
    if (config.scaling == RotaryScaling::kLlama3) {
      frequency = llama3_frequency(frequency, config);
    } else if (config.scaling == RotaryScaling::kYarn) {
      const double width = std::max(range.second - range.first, 0.001);
      const double ramp =
          std::clamp((static_cast<double>(i) - range.first) / width, 0.0, 1.0);
      frequency = ramp * frequency / config.factor + (1 - ramp) * frequency;
    }
    frequencies_[static_cast<size_t>(i)] = static_cast<float>(frequency);
  }
}

Rotary RotaryTable::at(const Tensor& positions) const {
  const int64_t tokens = positions.numel();
  const auto half = static_cast<int64_t>(frequencies_.size());
  Rotary rotary{
      at::empty({tokens, half}, at::kFloat), at::empty({tokens, half}, at::kFloat)};
  const auto* position = positions.const_data_ptr<int64_t>();
  auto* cosine = rotary.cosine.mutable_data_ptr<float>();
  auto* sine = rotary.sine.mutable_data_ptr<float>();
  at::parallel_for(0, tokens, 64, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const auto p = static_cast<float>(position[t]);
      for (int64_t i = 0; i < half; ++i) {
        const float angle = p * frequencies_[static_cast<size_t>(i)];
        cosine[t * half + i] = std::cos(angle) * attention_factor_;
        sine[t * half + i] = std::sin(angle) * attention_factor_;
      }
    }
  });
  return rotary;
}

}  // namespace titan::nn
