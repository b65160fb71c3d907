#pragma once
// How a parameter reaches an op. No op, graph edge or closure may hold a weight's
// storage: otherwise resharding frees nothing. So an op is given a Weight: a stub leaf
// that stands for the parameter in the autograd graph, and a handle that is resolved to
// data at forward and again at backward.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// The two brgemm layouts that a matrix weight W [N, K] is read in.
enum class PackKind {
  kForward,   // y = x W^T: W^T as the B operand, contracted over K
  kBackward,  // dx = dy W: W as the B operand, contracted over N
};

// Owner of parameter storage; implemented by parallel::ParameterBucket. All calls come
// from the thread that runs the block, between unshard and reshard of the bucket.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  // The parameter in the compute dtype, with its own shape. Throws when resharded.
  virtual Tensor value(int index) = 0;

  // Chosen rows of a matrix parameter in the compute dtype, without making all of
  // value().
  virtual Tensor rows(int index, const Tensor& which) = 0;

  // The matrix parameter packed for brgemm (ops/cpu/pack.h), made once per value and kept
  // until the value changes or the bucket is resharded.
  virtual Tensor packed(int index, PackKind kind) = 0;

  // Told by the block runner when the block's backward has ended: copies that the next
  // forward can make again may be dropped.
  virtual void backward_ended() = 0;

  // Adds dw (the parameter's shape, any floating dtype) to the gradient: the first write
  // of a backward pass copies, later ones add in the order of the calls.
  virtual void add_grad(int index, const Tensor& dw) = 0;

  // The fp32 gradient buffer of the parameter's shape, for kernels that write into it.
  // Such a kernel forms its whole contribution first and then stores it (accumulate ==
  // false) or adds it once per element, so that its result has the bits of add_grad.
  struct GradView {
    Tensor buffer;
    bool accumulate;
  };

  virtual GradView grad_view(int index) = 0;
};

// What an op keeps from forward to backward.
struct WeightHandle {
  WeightSource* source = nullptr;
  int index = -1;

  [[nodiscard]] Tensor value() const { return source->value(index); }

  [[nodiscard]] Tensor rows(const Tensor& which) const {
    return source->rows(index, which);
  }

  [[nodiscard]] Tensor packed(PackKind kind) const { return source->packed(index, kind); }
};

// What nn:: modules pass to ops. The stub has one element of storage, expanded to the
// parameter's shape; it requires grad exactly when the parameter is trained.
struct Weight {
  Tensor stub;
  WeightHandle handle;

  [[nodiscard]] Tensor value() const { return handle.value(); }

  [[nodiscard]] at::IntArrayRef sizes() const { return stub.sizes(); }
};

}  // namespace titan::ops
