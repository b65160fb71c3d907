#pragma once
// What flows through a model besides activations.

#include <cstdint>
#include <memory>
#include <vector>

#include "titan/ops/context.h"
#include "titan/ops/region.h"
#include "titan/ops/sequence.h"

namespace titan::nn {

using at::Tensor;

// Keys and values of earlier tokens, one pair of tensors a layer; the step's
// SequenceContext says which rows belong to which sequence. Kept in the compute dtype, so
// cached and recomputed rows have the same bits.
struct KvCache {
  struct Layer {
    Tensor key;    // [rows, G, D]
    Tensor value;  // [rows, G, Dv]
  };

  std::vector<Layer> layers;
};

// Cosines and sines of the step's tokens, fp32 [T, D/2].
struct Rotary {
  Tensor cosine;
  Tensor sine;
};

// Shared by all blocks of one step; nothing in it is differentiable. Outlives the
// backward pass.
struct StepContext {
  ops::SequenceContext sequence;
  Tensor targets;  // int64 [T]; undefined where no loss is computed
  Rotary rotary;
  KvCache* cache = nullptr;                         // set in generation
  std::shared_ptr<const ops::RegionTable> regions;  // null: all fused
};

// What a module's forward is given: the step and the runner's hooks for the ops.
struct BlockContext {
  const StepContext& step;
  ops::OpContext& ops;
};

// A unit of execution: its parameters are gathered, run, replayed and reduced together.
class Block {
 public:
  virtual ~Block() = default;
  // x [T, D] in the compute dtype, or the step's tokens for an embedding block.
  virtual Tensor forward(const Tensor& x, BlockContext& context) = 0;
};

}  // namespace titan::nn
