#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/checkpoint_writer.h"
#include "titan/models/common/causal_lm.h"
#include "titan/optim/adamw.h"
#include "titan/train/config.h"

namespace titan::train {

// Saves and restores the tensors of a run: weights under "model.NAME", moments under
// "optimizer.m.NAME" and "optimizer.v.NAME", and a JSON state beside them.
class Checkpoints {
 public:
  // REQUIRES: model and optimizer outlive this.
  Checkpoints(
      const fs::path& folder,
      const CheckpointConfig& config,
      models::CausalLm& model,
      optim::AdamW& optimizer);

  // Loads the newest complete checkpoint; its state, or nullopt when there is none.
  // Torn checkpoints above it are skipped with a warning.
  [[nodiscard]] std::optional<Json> restore_latest();

  // Starts saving. The weights and moments must not change before wait_staged() returns.
  void begin(int64_t step, Json state);
  void wait_staged();
  // Blocks until the checkpoint is committed; rethrows what went wrong.
  void wait();

 private:
  fs::path folder_;
  models::CausalLm& model_;
  optim::AdamW& optimizer_;
  checkpoint::CheckpointWriter writer_;
};

}  // namespace titan::train
