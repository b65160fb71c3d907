#include "titan/train/parts.h"

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/checkpoint/hf_folder.h"
#include "titan/models/common/weights.h"
#include "titan/train/model_files.h"

namespace titan::train {
namespace {

std::unique_ptr<models::CausalLm> build_model(const TrainConfig& config) {
  config::AnyConfig architecture = config.model.architecture;
  if (!config.model.path.empty()) {
    const fs::path file = fs::path(config.model.path) / "config.json";
    architecture = models::config_from_hugging_face(read_json_file(file), file.string());
  }
  auto model = std::make_unique<models::CausalLm>(
      architecture,
      models::CausalLmOptions{
          .compute_dtype = scalar_type(config.train.dtype),
          .remat = config.remat,
          .overrides = config.overrides,
          .regions = config.compile.regions});
  if (config.train.context > model->facts().context) {
    fail<ConfigError>(
        "train.context: expected at most the model's {} positions, got {}",
        model->facts().context,
        config.train.context);
  }
  return model;
}

observe::TransformerCost cost_of(const models::CausalLm& model) {
  const models::ModelFacts& facts = model.facts();
  int64_t parameters = model.parameters().num_parameters();
  if (!facts.tied_embeddings) {
    parameters -= model.parameters().find("embed.weight")->numel();
  }
  return {
      .active_parameters = parameters,
      .layers = facts.layers,
      .heads = facts.heads,
      .qk_dim = facts.qk_head_dim,
      .v_dim = facts.v_head_dim};
}

}  // namespace

at::ScalarType scalar_type(Dtype dtype) {
  return dtype == Dtype::kBf16 ? at::kBFloat16 : at::kFloat;
}

TrainParts::TrainParts(const TrainConfig& config)
    : model(build_model(config)),
      tokenizer(open_tokenizer(config)),
      cost(cost_of(*model)) {
  loader = std::make_unique<data::Loader>(
      config.data,
      data::LoaderOptions{
          .tokens_per_microbatch = config.train.tokens_per_microbatch,
          .context = config.train.context,
          .vocab_size = model->facts().vocab},
      tokenizer);
  model->parameters().materialize();
  optimizer = std::make_unique<optim::AdamW>(config.optimizer, model->parameters());
}

void TrainParts::initialize_weights(const TrainConfig& config) {
  if (!config.model.path.empty()) {
    const checkpoint::HfFolder folder(config.model.path);
    models::load_weights(*model, models::stored_tensors(folder));
    log::info("starting from {}", config.model.path);
    return;
  }
  model->parameters().initialize(static_cast<uint64_t>(config.run.seed));
  log::info(
      "starting from random weights, {:.2f} M parameters",
      static_cast<double>(model->parameters().num_parameters()) / 1e6);
}

std::vector<data::Batch> TrainParts::fetch(const TrainConfig& config) {
  std::vector<data::Batch> batches;
  for (int64_t i = 0; i < config.train.microbatches(); ++i) {
    std::optional<data::Batch> batch = loader->next();
    if (!batch) {
      break;  // the last update takes what there is
    }
    batches.push_back(std::move(*batch));
  }
  return batches;
}

}  // namespace titan::train
