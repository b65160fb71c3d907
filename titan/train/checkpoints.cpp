#include "titan/train/checkpoints.h"

#include "titan/base/log.h"
#include "titan/checkpoint/checkpoint_reader.h"

namespace titan::train {
namespace {

using Visit = std::function<void(const std::string& name, const at::Tensor& tensor)>;

// Every tensor of the run under its name in the checkpoint.
void for_each_tensor(
    const models::CausalLm& model, const optim::AdamW& optimizer, const Visit& visit) {
  for (const auto& parameter : model.parameters().parameters()) {
    visit("model." + parameter.name, parameter.master());
  }
  for (const optim::AdamW::State& state : optimizer.state()) {
    visit("optimizer.m." + state.name, state.first_moment);
    visit("optimizer.v." + state.name, state.second_moment);
  }
}

}  // namespace

Checkpoints::Checkpoints(
    const fs::path& folder,
    const CheckpointConfig& config,
    models::CausalLm& model,
    optim::AdamW& optimizer)
    : folder_(folder),
      model_(model),
      optimizer_(optimizer),
      writer_(folder, {.keep_latest = config.keep_latest, .async = config.async}) {}

std::optional<Json> Checkpoints::restore_latest() {
  const checkpoint::LatestCheckpoint latest = checkpoint::find_latest(folder_);
  for (const auto& skipped : latest.skipped) {
    log::warning("skipping {}: {}", skipped.path.string(), skipped.reason);
  }
  if (!latest.path) {
    return std::nullopt;
  }
  const checkpoint::CheckpointReader reader(*latest.path);
  for_each_tensor(
      model_, optimizer_, [&](const std::string& name, const at::Tensor& tensor) {
        reader.read(name, tensor);
      });
  model_.parameters().values_changed();
  optimizer_.set_steps(
      json_get<int64_t>(reader.state(), "optimizer_steps", latest.path->string()));
  return reader.state();
}

void Checkpoints::begin(int64_t step, Json state) {
  std::vector<checkpoint::TensorRegion> regions;
  for_each_tensor(
      model_, optimizer_, [&](const std::string& name, const at::Tensor& tensor) {
        regions.push_back(checkpoint::whole_tensor(name, tensor));
      });
  writer_.begin(step, std::move(state), std::move(regions));
}

void Checkpoints::wait_staged() {
  writer_.wait_staged();
}

void Checkpoints::wait() {
  writer_.wait();
}

}  // namespace titan::train
