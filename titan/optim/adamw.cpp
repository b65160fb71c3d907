#include "titan/optim/adamw.h"

#include <ATen/ATen.h>

#include "titan/base/error.h"
#include "titan/base/nearest.h"
#include "titan/ops/adamw.h"

namespace titan::optim {
namespace {

const GroupConfig* group_of(const AdamWConfig& config, const std::string& name) {
  for (const GroupConfig& group : config.groups) {
    if (glob_match(group.pattern, name)) {
      return &group;
    }
  }
  return nullptr;
}

void refuse_idle_groups(
    const AdamWConfig& config, const parallel::ParameterStore& store) {
  for (size_t i = 0; i < config.groups.size(); ++i) {
    const std::string& pattern = config.groups[i].pattern;
    bool matched = false;
    for (const auto& parameter : store.parameters()) {
      matched = matched || glob_match(pattern, parameter.name);
    }
    if (!matched) {
      fail<ConfigError>(
          "optimizer.groups.{}.pattern: \"{}\" matches no parameter, e.g. {}",
          i,
          pattern,
          store.parameters().front().name);
    }
  }
}

}  // namespace

AdamW::AdamW(const AdamWConfig& config, parallel::ParameterStore& store)
    : config_(config), store_(store) {
  refuse_idle_groups(config, store);
  for (const auto& parameter : store.parameters()) {
    const GroupConfig* group = group_of(config, parameter.name);
    slots_.push_back(
        {.lr_scale = group == nullptr ? 1.0 : group->lr_scale,
         .weight_decay = group == nullptr
                             ? config.weight_decay
                             : group->weight_decay.value_or(config.weight_decay),
         .first_moment = at::zeros(parameter.shape(), at::kFloat),
         .second_moment = at::zeros(parameter.shape(), at::kFloat)});
  }
}

void AdamW::step(double lr, double gradient_scale) {
  ++steps_;
  const auto& parameters = store_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Slot& slot = slots_[i];
    ops::adamw_step(
        {.lr = lr * slot.lr_scale,
         .beta1 = config_.beta1,
         .beta2 = config_.beta2,
         .eps = config_.eps,
         .weight_decay = slot.weight_decay,
         .step = steps_,
         .gradient_scale = gradient_scale},
        parameters[i].master().view({-1}),
        parameters[i].gradient().view({-1}),
        slot.first_moment.view({-1}),
        slot.second_moment.view({-1}));
  }
  store_.clear_gradients();
  store_.values_changed();
}

std::vector<AdamW::State> AdamW::state() const {
  std::vector<State> states;
  for (size_t i = 0; i < slots_.size(); ++i) {
    states.push_back(
        {store_.parameters()[i].name, slots_[i].first_moment, slots_[i].second_moment});
  }
  return states;
}

}  // namespace titan::optim
