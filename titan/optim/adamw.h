#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "titan/parallel/parameter_store.h"

namespace titan::optim {

using at::Tensor;

// Settings of the parameters whose name matches a glob.
struct GroupConfig {
  std::string pattern = "*";
  double lr_scale = 1;
  std::optional<double> weight_decay;  // null = the optimizer's

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("pattern", self.pattern, "glob over parameter names");
    visit("lr_scale", self.lr_scale, "factor on the learning rate");
    visit("weight_decay", self.weight_decay, "null = optimizer.weight_decay");
  }
};

struct AdamWConfig {
  double lr = 8e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
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

// AdamW over all parameters of a store, with fp32 moments. Not thread-safe.
class AdamW {
 public:
  // REQUIRES: the store is materialised and outlives this. ConfigError when a group's
  // pattern matches no parameter.
  AdamW(const AdamWConfig& config, parallel::ParameterStore& store);

  // One update of every parameter from its gradient times gradient_scale, with the base
  // learning rate `lr`; the gradients are cleared.
  void step(double lr, double gradient_scale);

  // Updates so far.
  [[nodiscard]] int64_t steps() const { return steps_; }

  void set_steps(int64_t steps) { steps_ = steps; }

  struct State {
    std::string name;      // of the parameter
    Tensor first_moment;   // fp32, the parameter's shape
    Tensor second_moment;  // fp32, the parameter's shape
  };

  // Views of the moments, in the order of the store's parameters.
  [[nodiscard]] std::vector<State> state() const;

 private:
  struct Slot {
    double lr_scale;
    double weight_decay;
    Tensor first_moment;
    Tensor second_moment;
  };

  AdamWConfig config_;
  parallel::ParameterStore& store_;
  std::vector<Slot> slots_;  // one a parameter
  int64_t steps_ = 0;
};

}  // namespace titan::optim
