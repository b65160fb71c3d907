#pragma once
// A language model ready to run: the family's blocks, their parameters and their runners.
// The trainer, validation, scoring and generation all run this one object.

#include <memory>
#include <string>
#include <vector>

#include "titan/models/common/family.h"
#include "titan/parallel/block_runner.h"
#include "titan/parallel/parameter_store.h"

namespace titan::models {

struct CausalLmOptions {
  at::ScalarType compute_dtype = at::kFloat;  // kFloat or kBFloat16; masters are fp32
  parallel::RematConfig remat;
  std::vector<std::string> overrides;        // "glob=name", see nn/override.h
  std::vector<std::string> regions = {"*"};  // see ops::RegionTable
};

// Not thread-safe. Building allocates nothing; parameters().materialize() does.
class CausalLm {
 public:
  // Throws ConfigError for an invalid config or override.
  CausalLm(const config::AnyConfig& config, const CausalLmOptions& options);

  [[nodiscard]] const config::AnyConfig& config() const { return config_; }

  [[nodiscard]] const ModelFacts& facts() const { return facts_; }

  [[nodiscard]] parallel::ParameterStore& parameters() { return *store_; }

  [[nodiscard]] const parallel::ParameterStore& parameters() const { return *store_; }

  // The nodes that overrides can claim.
  [[nodiscard]] const std::vector<nn::NodeInfo>& nodes() const { return nodes_; }

  [[nodiscard]] const std::vector<std::unique_ptr<parallel::BlockRunner>>& runners()
      const {
    return runners_;
  }

  // Log-probability of each target under the model, fp32 [T]; 0 where the target is
  // ops::kIgnoreIndex. tokens, targets int64 [T]. Differentiable in the parameters, whose
  // gradients go to the store.
  Tensor target_logprobs(
      const Tensor& tokens, const Tensor& targets, const ops::SequenceContext& sequence);

  // fp32 [rows, V] for the given rows of the step (all when `rows` is undefined); tokens
  // int64 [T]. With a cache, the new keys and values are appended to it. Not
  // differentiable.
  Tensor logits(
      const Tensor& tokens,
      const ops::SequenceContext& sequence,
      nn::KvCache* cache = nullptr,
      const Tensor& rows = {});

  // A cache of `rows` tokens in the compute dtype, uninitialised.
  [[nodiscard]] nn::KvCache make_cache(int64_t rows) const;

 private:
  [[nodiscard]] std::shared_ptr<nn::StepContext> step_of(
      const ops::SequenceContext& sequence) const;
  // Embedding and all layers: [T, dim].
  Tensor hidden(const Tensor& tokens, const parallel::BlockRunner::Step& step);

  config::AnyConfig config_;
  ModelFacts facts_;
  std::vector<nn::NodeInfo> nodes_;
  std::unique_ptr<parallel::ParameterStore> store_;
  std::shared_ptr<const ops::RegionTable> regions_;
  Decoder decoder_;
  std::vector<std::unique_ptr<parallel::BlockRunner>>
      runners_;  // embedding, layers, head
};

}  // namespace titan::models
