#include "titan/models/common/causal_lm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "titan/config/check.h"
#include "titan/nn/override.h"

namespace titan::models {
namespace {

// The claims are resolved on the original tree, before any node is replaced.
nn::OverrideMap resolve(
    const Family& family,
    const config::AnyConfig& config,
    const CausalLmOptions& options) {
  if (options.overrides.empty()) {
    return {};
  }
  parallel::ParameterStore unused(options.compute_dtype);
  nn::Assembly original(unused);
  (void)family.build(nn::Scope(original), config);
  return nn::resolve_overrides(options.overrides, original.nodes);
}

}  // namespace

CausalLm::CausalLm(const config::AnyConfig& config, const CausalLmOptions& options)
    : config_(config),
      store_(std::make_unique<parallel::ParameterStore>(options.compute_dtype)),
      regions_(std::make_shared<ops::RegionTable>(options.regions)) {
  const Family& family = family_of(config);
  config::check(config);
  facts_ = family.facts(config);
  nn::Assembly assembly(*store_, resolve(family, config, options));
  decoder_ = family.build(nn::Scope(assembly), config);
  nodes_ = std::move(assembly.nodes);

  std::vector<nn::Block*> blocks = {decoder_.embedding.get()};
  for (const auto& layer : decoder_.layers) {
    blocks.push_back(layer.get());
  }
  blocks.push_back(decoder_.head.get());
  TORCH_INTERNAL_ASSERT(blocks.size() == assembly.blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    nn::Assembly::Block& parts = assembly.blocks[i];
    runners_.push_back(std::make_unique<parallel::BlockRunner>(
        parts.name,
        std::move(parts.weights),
        [block = blocks[i]](const Tensor& x, nn::BlockContext& context) {
          return block->forward(x, context);
        },
        options.remat));
  }
}

Tensor CausalLm::target_logprobs(
    const Tensor& tokens, const Tensor& targets, const ops::SequenceContext& sequence) {
  const auto step = step_of(sequence);
  step->targets = targets;
  return (*runners_.back())(hidden(tokens, step), step);
}

Tensor CausalLm::logits(
    const Tensor& tokens,
    const ops::SequenceContext& sequence,
    nn::KvCache* cache,
    const Tensor& rows) {
  const at::NoGradGuard no_grad;
  const auto step = step_of(sequence);
  step->cache = cache;
  Tensor x = hidden(tokens, step);
  if (rows.defined()) {
    x = x.index_select(0, rows);
  }
  ops::OpContext ops{.regions = step->regions.get()};
  nn::BlockContext context{*step, ops};
  return decoder_.head->logits(x, context);
}

nn::KvCache CausalLm::make_cache(int64_t rows) const {
  const at::TensorOptions options(store_->compute_dtype());
  nn::KvCache cache;
  for (int64_t layer = 0; layer < facts_.layers; ++layer) {
    cache.layers.push_back(
        {.key = at::empty({rows, facts_.kv_heads, facts_.qk_head_dim}, options),
         .value = at::empty({rows, facts_.kv_heads, facts_.v_head_dim}, options)});
  }
  return cache;
}

std::shared_ptr<nn::StepContext> CausalLm::step_of(
    const ops::SequenceContext& sequence) const {
  auto step = std::make_shared<nn::StepContext>();
  step->sequence = sequence;
  step->regions = regions_;
  step->rotary = decoder_.rotary->at(sequence.positions());
  return step;
}

Tensor CausalLm::hidden(const Tensor& tokens, const parallel::BlockRunner::Step& step) {
  Tensor x = tokens;
  for (size_t i = 0; i + 1 < runners_.size(); ++i) {
    x = (*runners_[i])(x, step);
  }
  return x;
}

}  // namespace titan::models
