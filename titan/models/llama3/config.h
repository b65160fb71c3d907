#pragma once
// Llama 3, 3.1, 3.2 and 3.3 (Grattafiori et al. 2024), and models of the same
// architecture such as SmolLM2.

#include <string_view>

#include "titan/models/common/dense.h"

namespace titan::models {

struct Llama3Config {
  static constexpr std::string_view kType = "llama3";

  DenseConfig dense;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    DenseConfig::fields(self.dense, visit);
  }

  template <class Problems>
  static void check(const Llama3Config& self, Problems& problems) {
    DenseConfig::check(self.dense, problems);
  }
};

// The published size: debug, 1B, 3B, 8B, 70B or 405B. ConfigError names the nearest.
[[nodiscard]] Llama3Config llama3_size(const std::string& name);

}  // namespace titan::models
