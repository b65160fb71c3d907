#pragma once
// Qwen3 dense (Yang et al. 2025): the Llama block with an RMSNorm on every query and key
// head and a head width that is independent of the model's width.

#include <string_view>

#include "titan/models/common/dense.h"

namespace titan::models {

struct Qwen3Config {
  static constexpr std::string_view kType = "qwen3";

  DenseConfig dense;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    DenseConfig::fields(self.dense, visit);
  }

  template <class Problems>
  static void check(const Qwen3Config& self, Problems& problems) {
    DenseConfig::check(self.dense, problems);
  }
};

// The published size: debug, 0.6B, 1.7B, 4B, 8B, 14B or 32B. ConfigError names the
// nearest.
[[nodiscard]] Qwen3Config qwen3_size(const std::string& name);

}  // namespace titan::models
