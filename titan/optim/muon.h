#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/optim/adamw.h"
#include "titan/optim/groups.h"
#include "titan/optim/optimizer.h"

namespace titan::optim {

// The factor on the learning rate of a matrix [N, K], whose update is near orthogonal.
enum class MuonScale {
  kOriginal,  // sqrt(max(1, N / K))
  kMatchRms,  // 0.2 sqrt(max(N, K)): about the size of AdamW's updates (Liu et al. 2025)
  kSpectral,  // sqrt(N / K)
};

constexpr auto enum_names(MuonScale) {
  return std::array{
      std::pair{MuonScale::kOriginal, std::string_view("original")},
      std::pair{MuonScale::kMatchRms, std::string_view("match_rms_adamw")},
      std::pair{MuonScale::kSpectral, std::string_view("spectral_unclamped")}};
}

struct MuonConfig {
  double lr = 8e-4;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;
  MuonScale scale = MuonScale::kMatchRms;
  int64_t newton_schulz_steps = 5;
  Precision iteration = Precision::kBf16;
  std::vector<GroupConfig> groups;  // of matrices; the first match wins
  // Matrices whose rows are looked up or are classes, not directions, are AdamW's, with
  // all parameters that are no matrices.
  std::vector<std::string> adamw_matrices = {"embed.*", "head.*"};
  AdamWConfig adamw;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr, "peak learning rate of matrices");
    visit("momentum", self.momentum, "decay of the momentum");
    visit("nesterov", self.nesterov, "update looks ahead by one gradient");
    visit("weight_decay", self.weight_decay, "decoupled weight decay of matrices");
    visit("scale", self.scale, "factor on lr by the matrix's shape");
    visit(
        "newton_schulz_steps",
        self.newton_schulz_steps,
        "iterations of the orthogonalisation");
    visit("iteration", self.iteration, "dtype of the orthogonalisation");
    visit("groups", self.groups, "other settings for matching matrices");
    visit(
        "adamw_matrices",
        self.adamw_matrices,
        "globs of matrices that AdamW updates; vectors and scalars always are its");
    visit("adamw", self.adamw, "AdamW; its lr follows the same schedule");
  }

  template <class Problems>
  static void check(const MuonConfig& self, Problems& problems) {
    problems.expect(self.lr > 0, "lr", "> 0", self.lr);
    problems.expect(
        self.momentum >= 0 && self.momentum < 1,
        "momentum",
        "within 0 and 1",
        self.momentum);
    problems.expect(self.weight_decay >= 0, "weight_decay", ">= 0", self.weight_decay);
    problems.expect(
        self.newton_schulz_steps >= 1,
        "newton_schulz_steps",
        ">= 1",
        self.newton_schulz_steps);
  }
};

// Muon (Jordan et al. 2024) for the matrices of a store and AdamW for the rest. A matrix
// is a parameter [N, K] or a stack of them [E, N, K] (experts) with N and K above 1. Its
// momentum is fp32. Matrices of one shape are orthogonalised together, which changes no
// bits. Not thread-safe.
class Muon final : public Optimizer {
 public:
  // REQUIRES: the store is materialised and outlives this. ConfigError when a pattern
  // matches no parameter that it could apply to.
  Muon(const MuonConfig& config, parallel::ParameterStore& store);

  // `lr` is the rate of matrices; AdamW's is adamw.lr times lr / config.lr.
  void step(double lr, double gradient_scale) override;

  [[nodiscard]] int64_t steps() const override { return adamw_.steps(); }

  void set_steps(int64_t steps) override { adamw_.set_steps(steps); }

  // A matrix's first moment is its momentum; it has no second.
  [[nodiscard]] std::vector<State> state() const override;

 private:
  struct Slot {
    size_t parameter;  // its place in the store
    GroupSettings settings;
    Tensor momentum;  // [E, N, K], E = 1 for a parameter [N, K]
  };

  // Slots whose matrices have one shape, in the order of the store.
  using Batch = std::vector<Slot>;

  void step_batch(const Batch& batch, double lr, double gradient_scale);

  MuonConfig config_;
  parallel::ParameterStore& store_;
  AdamW adamw_;
  std::vector<Batch> batches_;
};

}  // namespace titan::optim
