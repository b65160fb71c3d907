#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan::parallel {

enum class RematMode { kNone, kSelective, kFull };

constexpr auto enum_names(RematMode) {
  return std::array{
      std::pair{RematMode::kNone, std::string_view("none")},
      std::pair{RematMode::kSelective, std::string_view("selective")},
      std::pair{RematMode::kFull, std::string_view("full")}};
}

// Rematerialisation: what of a block's forward is kept for its backward, and what is run
// again. Gradients have the same bits in every mode.
struct RematConfig {
  RematMode mode = RematMode::kSelective;
  // selective: globs over region names whose results are kept. The attention core alone
  // buys back half of the recomputed time for its output's memory.
  std::vector<std::string> save = {"attention.core"};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("mode", self.mode, "none: keep all activations; full: keep block inputs only");
    visit("save", self.save, "selective: region names (globs) whose results are kept");
  }
};

}  // namespace titan::parallel
