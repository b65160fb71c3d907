#pragma once
// Runs one block: decides what is recorded, kept and recomputed, takes the block's
// gradients and hands weight gradients to their owner. The two halves are the interface
// that pipeline stages call; operator() wraps them into one autograd Function for
// ordinary use.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "titan/nn/block.h"
#include "titan/nn/scope.h"
#include "titan/parallel/parameter_bucket.h"
#include "titan/parallel/remat.h"

namespace titan::parallel {

// What a block keeps between its forward and its backward.
struct BlockState;

// One per block and rank; not thread-safe.
class BlockRunner {
 public:
  using Body = std::function<Tensor(const Tensor& x, nn::BlockContext& context)>;
  using Step = std::shared_ptr<const nn::StepContext>;

  // `weights` are those that the block declared or shares.
  BlockRunner(
      std::string name, std::vector<ops::Weight> weights, Body body, RematConfig remat);

  // First half: runs the block on x for a later backward. Integer x (tokens) gets no
  // gradient.
  [[nodiscard]] std::shared_ptr<BlockState> forward(const Tensor& x, Step step);
  // The block's result, detached from the graph inside.
  [[nodiscard]] static const Tensor& output(const BlockState& state);
  // Second half: gradient of x (undefined for integer x) from the gradient of the output.
  // With `defer`, heavy weight gradients are queued there instead of being computed. Uses
  // up state.
  Tensor backward(BlockState& state, const Tensor& dy, ops::WgradQueue* defer = nullptr);

  // Both halves as one differentiable function; without grad mode a plain forward.
  Tensor operator()(const Tensor& x, const Step& step);

  [[nodiscard]] const std::string& name() const { return name_; }

  // Bytes that this block held after its last forward: kept results, excluding its input.
  [[nodiscard]] int64_t kept_bytes() const { return kept_bytes_; }

 private:
  std::string name_;
  std::vector<ops::Weight> weights_;
  Body body_;
  RematConfig remat_;
  Tensor
      anchor_;  // makes the wrapping Function a graph node even where x needs no gradient
  int64_t kept_bytes_ = 0;
};

}  // namespace titan::parallel
