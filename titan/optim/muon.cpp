#include "titan/optim/muon.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <ATen/ATen.h>

#include "titan/base/nearest.h"
#include "titan/ops/muon.h"

namespace titan::optim {
namespace {

// Updates held at a time, 64 MiB of them where no single parameter is larger.
constexpr int64_t kBatchElements = int64_t{1} << 24;

bool is_matrix(const std::vector<int64_t>& shape) {
  const size_t dims = shape.size();
  return (dims == 2 || dims == 3) && shape[dims - 1] > 1 && shape[dims - 2] > 1;
}

// Places of the parameters of one kind.
std::vector<size_t> parameters_of(
    const MuonConfig& config, const parallel::ParameterStore& store, bool muons) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < store.parameters().size(); ++i) {
    const auto& parameter = store.parameters()[i];
    const bool adamw = std::any_of(
        config.adamw_matrices.begin(),
        config.adamw_matrices.end(),
        [&](const std::string& pattern) { return glob_match(pattern, parameter.name); });
    if ((is_matrix(parameter.shape()) && !adamw) == muons) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

std::vector<std::string> names_of(
    const parallel::ParameterStore& store, const std::vector<size_t>& parameters) {
  std::vector<std::string> names;
  for (const size_t index : parameters) {
    names.push_back(store.parameters()[index].name);
  }
  return names;
}

double scale_of(MuonScale scale, int64_t rows, int64_t columns) {
  const auto n = static_cast<double>(rows);
  const auto k = static_cast<double>(columns);
  switch (scale) {
    case MuonScale::kOriginal:
      return std::sqrt(std::max(1.0, n / k));
    case MuonScale::kMatchRms:
      return 0.2 * std::sqrt(std::max(n, k));
    case MuonScale::kSpectral:
      return std::sqrt(n / k);
  }
  return 1;
}

}  // namespace

Muon::Muon(const MuonConfig& config, parallel::ParameterStore& store)
    : config_(config),
      store_(store),
      adamw_(
          config.adamw,
          store,
          parameters_of(config, store, /*muons=*/false),
          "optimizer.adamw") {
  const std::vector<size_t> matrices = parameters_of(config, store, /*muons=*/true);
  refuse_idle_patterns(
      patterns_of(config.groups),
      names_of(store, matrices),
      "optimizer.groups.{}.pattern");
  std::vector<std::string> all;
  for (const auto& parameter : store.parameters()) {
    all.push_back(parameter.name);
  }
  refuse_idle_patterns(config.adamw_matrices, all, "optimizer.adamw_matrices.{}");

  std::map<std::pair<int64_t, int64_t>, size_t> open;  // shape -> batch that takes more
  std::vector<int64_t> elements;                       // of each batch
  for (const size_t index : matrices) {
    const auto& parameter = store.parameters()[index];
    const std::vector<int64_t>& shape = parameter.shape();
    const int64_t rows = shape[shape.size() - 2];
    const int64_t columns = shape.back();
    const auto [found, is_new] = open.try_emplace({rows, columns}, batches_.size());
    if (!is_new && elements[found->second] + parameter.numel() > kBatchElements) {
      found->second = batches_.size();
    }
    if (found->second == batches_.size()) {
      batches_.emplace_back();
      elements.push_back(0);
    }
    elements[found->second] += parameter.numel();
    batches_[found->second].push_back(
        {.parameter = index,
         .settings = settings_of(config.groups, config.weight_decay, parameter.name),
         .momentum = at::zeros({parameter.numel() / (rows * columns), rows, columns})});
  }
}

void Muon::step(double lr, double gradient_scale) {
  for (const Batch& batch : batches_) {
    step_batch(batch, lr, gradient_scale);
  }
  adamw_.update(config_.adamw.lr * lr / config_.lr, gradient_scale);
  store_.clear_gradients();
  store_.values_changed();
}

void Muon::step_batch(const Batch& batch, double lr, double gradient_scale) {
  const int64_t rows = batch.front().momentum.size(1);
  const int64_t columns = batch.front().momentum.size(2);
  int64_t count = 0;
  for (const Slot& slot : batch) {
    count += slot.momentum.size(0);
  }
  const Tensor updates = at::empty({count, rows, columns}, at::kFloat);
  int64_t begin = 0;
  for (const Slot& slot : batch) {
    const auto& parameter = store_.parameters()[slot.parameter];
    ops::muon_momentum(
        {.momentum = config_.momentum,
         .nesterov = config_.nesterov,
         .gradient_scale = gradient_scale},
        parameter.gradient().view(slot.momentum.sizes()),
        slot.momentum,
        updates.narrow(0, begin, slot.momentum.size(0)));
    begin += slot.momentum.size(0);
  }
  const Tensor directions = ops::orthogonalize(
      updates,
      {.steps = config_.newton_schulz_steps, .dtype = dtype_of(config_.iteration)});
  begin = 0;
  for (const Slot& slot : batch) {
    const double own = lr * slot.settings.lr_scale;
    ops::muon_step(
        own * scale_of(config_.scale, rows, columns),
        own * slot.settings.weight_decay,
        store_.parameters()[slot.parameter].master().view(slot.momentum.sizes()),
        directions.narrow(0, begin, slot.momentum.size(0)));
    begin += slot.momentum.size(0);
  }
}

std::vector<Optimizer::State> Muon::state() const {
  std::map<size_t, Tensor> momenta;  // by place in the store
  for (const Batch& batch : batches_) {
    for (const Slot& slot : batch) {
      momenta[slot.parameter] = slot.momentum;
    }
  }
  std::vector<State> states;
  std::vector<State> rest = adamw_.state();
  auto next = rest.begin();
  for (size_t i = 0; i < store_.parameters().size(); ++i) {
    const auto& parameter = store_.parameters()[i];
    const auto momentum = momenta.find(i);
    states.push_back(
        momentum == momenta.end()
            ? *next++
            : State{parameter.name, momentum->second.view(parameter.shape()), Tensor()});
  }
  return states;
}

}  // namespace titan::optim
