#include "titan/optim/adamw.h"

#include <numeric>

#include <ATen/ATen.h>

#include "titan/ops/adamw.h"

namespace titan::optim {
namespace {

std::vector<size_t> all_parameters(const parallel::ParameterStore& store) {
  std::vector<size_t> all(store.parameters().size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

}  // namespace

AdamW::AdamW(const AdamWConfig& config, parallel::ParameterStore& store)
    : AdamW(config, store, all_parameters(store), "optimizer") {}

AdamW::AdamW(
    const AdamWConfig& config,
    parallel::ParameterStore& store,
    const std::vector<size_t>& parameters,
    std::string_view field)
    : config_(config), store_(store) {
  const at::ScalarType dtype = dtype_of(config.moments);
  std::vector<std::string> names;
  for (const size_t index : parameters) {
    const auto& parameter = store.parameters()[index];
    names.push_back(parameter.name);
    slots_.push_back(
        {.parameter = index,
         .settings = settings_of(config.groups, config.weight_decay, parameter.name),
         .first_moment = at::zeros(parameter.shape(), dtype),
         .second_moment = at::zeros(parameter.shape(), dtype)});
  }
  refuse_idle_patterns(
      patterns_of(config.groups), names, std::string(field) + ".groups.{}.pattern");
}

void AdamW::step(double lr, double gradient_scale) {
  update(lr, gradient_scale);
  store_.clear_gradients();
  store_.values_changed();
}

void AdamW::update(double lr, double gradient_scale) {
  ++steps_;
  for (const Slot& slot : slots_) {
    const auto& parameter = store_.parameters()[slot.parameter];
    ops::adamw_step(
        {.lr = lr * slot.settings.lr_scale,
         .beta1 = config_.beta1,
         .beta2 = config_.beta2,
         .eps = config_.eps,
         .weight_decay = slot.settings.weight_decay,
         .step = steps_,
         .gradient_scale = gradient_scale},
        parameter.master().view({-1}),
        parameter.gradient().view({-1}),
        slot.first_moment.view({-1}),
        slot.second_moment.view({-1}));
  }
}

std::vector<AdamW::State> AdamW::state() const {
  std::vector<State> states;
  for (const Slot& slot : slots_) {
    states.push_back(
        {store_.parameters()[slot.parameter].name,
         slot.first_moment,
         slot.second_moment});
  }
  return states;
}

}  // namespace titan::optim
