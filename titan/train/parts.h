#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "titan/data/loader.h"
#include "titan/models/common/causal_lm.h"
#include "titan/observe/flops.h"
#include "titan/optim/adamw.h"
#include "titan/text/tokenizer.h"
#include "titan/train/config.h"

namespace titan::train {

// What a config describes, opened and checked, before any step.
struct TrainParts {
  // The parameters are materialised, but not yet initialised. ConfigError, InputError and
  // FormatError for everything that the user can get wrong.
  explicit TrainParts(const TrainConfig& config);

  // Loads model.path, or draws random weights from run.seed.
  void initialize_weights(const TrainConfig& config);
  // The micro-batches of the next step: fewer at the end of the data, then none.
  [[nodiscard]] std::vector<data::Batch> fetch(const TrainConfig& config);

  std::unique_ptr<models::CausalLm> model;
  text::Tokenizer tokenizer;
  std::unique_ptr<data::Loader> loader;
  std::unique_ptr<optim::AdamW> optimizer;
  observe::TransformerCost cost;
};

[[nodiscard]] at::ScalarType scalar_type(Dtype dtype);

}  // namespace titan::train
