#pragma once
// The regions that titan's models use: each chain is written here once.
// titan/ops/region.h says how they run.

#include <array>
#include <string_view>
#include <tuple>

#include "titan/ops/region/expression.h"

namespace titan::ops::region {

// silu(gate) up (Shazeer 2020).
struct Swiglu {
  static constexpr std::string_view kName = "swiglu";
  static constexpr std::array kInputs{Kind::kRows, Kind::kRows};
  static constexpr int kScalars = 0;

  static auto chain(auto gate, auto up) { return gate * sigmoid(gate) * up; }
};

// gelu(gate) up with the tanh form of GELU.
struct Geglu {
  static constexpr std::string_view kName = "geglu";
  static constexpr std::array kInputs{Kind::kRows, Kind::kRows};
  static constexpr int kScalars = 0;

  static auto chain(auto gate, auto up) { return gelu_tanh(gate) * up; }
};

// gpt-oss: gate is cut from above and up on both sides at `limit`, then
// gate sigmoid(alpha gate) (up + 1).
struct ClippedSwiglu {
  static constexpr std::string_view kName = "clipped_swiglu";
  static constexpr std::array kInputs{Kind::kRows, Kind::kRows};
  static constexpr int kScalars = 2;

  static auto chain(auto gate, auto up, auto alpha, auto limit) {
    const auto g = minimum(gate, limit);
    const auto u = maximum(minimum(up, limit), number<0> - limit);
    return g * sigmoid(alpha * g) * (u + number<1>);
  }
};

// cap tanh(x / cap), the bound of attention scores and logits (Gemma 2); scalars cap and
// 1 / cap.
struct SoftCap {
  static constexpr std::string_view kName = "soft_cap";
  static constexpr std::array kInputs{Kind::kRows};
  static constexpr int kScalars = 2;

  static auto chain(auto x, auto cap, auto inverse_cap) {
    return cap * tanh(x * inverse_cap);
  }
};

// weight x / sqrt(mean(x^2) + eps), rounded before the weight as Hugging Face's models
// do.
struct RmsNorm {
  static constexpr std::string_view kName = "rms_norm";
  static constexpr std::array kInputs{Kind::kRows, Kind::kColumns};
  static constexpr int kScalars = 1;

  static auto chain(auto x, auto weight, auto eps) {
    return rounded(x * rsqrt(row_mean(x * x) + eps)) * weight;
  }
};

// The sum of residual and update, and its norm.
struct AddRmsNorm {
  static constexpr std::string_view kName = "add_rms_norm";
  static constexpr std::array kInputs{Kind::kRows, Kind::kRows, Kind::kColumns};
  static constexpr int kScalars = 1;

  static auto chain(auto residual, auto update, auto weight, auto eps) {
    const auto sum = rounded(residual + update);
    return std::tuple{sum, RmsNorm::chain(sum, weight, eps)};
  }
};

// RMS norm of a head followed by the rotation of its two halves (a, b); the row is one
// head, of which a and b are the halves and wa, wb the halves of the norm's weight.
struct QkNormRope {
  static constexpr std::string_view kName = "qk_norm_rope";
  static constexpr std::array kInputs{
      Kind::kRows,
      Kind::kRows,
      Kind::kColumns,
      Kind::kColumns,
      Kind::kTable,
      Kind::kTable};
  static constexpr int kScalars = 1;

  static auto chain(auto a, auto b, auto wa, auto wb, auto cosine, auto sine, auto eps) {
    const auto scale = rsqrt(row_mean(a * a + b * b) * number<1, 2> + eps);
    const auto x = rounded(rounded(a * scale) * wa);
    const auto y = rounded(rounded(b * scale) * wb);
    return std::tuple{x * cosine - y * sine, y * cosine + x * sine};
  }
};

}  // namespace titan::ops::region
