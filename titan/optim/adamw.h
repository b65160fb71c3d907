#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "titan/optim/groups.h"
#include "titan/optim/optimizer.h"

namespace titan::optim {

struct AdamWConfig {
  double lr = 8e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  Precision moments = Precision::kFp32;
  // The first match wins; a parameter that none matches has the settings above. Norm
  // weights are scales around one, which decay would pull to zero.
  std::vector<GroupConfig> groups = {{.pattern = "*norm.weight", .weight_decay = 0.0}};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr, "peak learning rate");
    visit("beta1", self.beta1, "decay of the first moment");
    visit("beta2", self.beta2, "decay of the second moment");
    visit("eps", self.eps, "added to the root of the second moment");
    visit("weight_decay", self.weight_decay, "decoupled weight decay");
    visit("moments", self.moments, "how both moments are kept; bf16 halves their memory");
    visit("groups", self.groups, "other settings for matching parameters");
  }

  template <class Problems>
  static void check(const AdamWConfig& self, Problems& problems) {
    problems.expect(self.lr >= 0, "lr", ">= 0", self.lr);
    problems.expect(
        self.beta1 >= 0 && self.beta1 < 1, "beta1", "within 0 and 1", self.beta1);
    problems.expect(
        self.beta2 >= 0 && self.beta2 < 1, "beta2", "within 0 and 1", self.beta2);
    problems.expect(self.eps > 0, "eps", "> 0", self.eps);
    problems.expect(self.weight_decay >= 0, "weight_decay", ">= 0", self.weight_decay);
  }
};

// AdamW over the parameters of a store. Updates are computed in fp32 whatever the moments
// are kept as. Not thread-safe.
class AdamW final : public Optimizer {
 public:
  // REQUIRES: the store is materialised and outlives this. ConfigError when a group's
  // pattern matches no parameter.
  AdamW(const AdamWConfig& config, parallel::ParameterStore& store);
  // Over some parameters only: their places in store.parameters(), ascending. `field` is
  // the path of the config, for messages.
  AdamW(
      const AdamWConfig& config,
      parallel::ParameterStore& store,
      const std::vector<size_t>& parameters,
      std::string_view field);

  void step(double lr, double gradient_scale) override;
  // step() for an optimizer that has this one for some parameters: it clears the
  // gradients and tells the store itself.
  void update(double lr, double gradient_scale);

  [[nodiscard]] int64_t steps() const override { return steps_; }

  void set_steps(int64_t steps) override { steps_ = steps; }

  // Both moments, in the dtype that they are kept in.
  [[nodiscard]] std::vector<State> state() const override;

 private:
  struct Slot {
    size_t parameter;  // its place in the store
    GroupSettings settings;
    Tensor first_moment;
    Tensor second_moment;
  };

  AdamWConfig config_;
  parallel::ParameterStore& store_;
  std::vector<Slot> slots_;
  int64_t steps_ = 0;
};

}  // namespace titan::optim
