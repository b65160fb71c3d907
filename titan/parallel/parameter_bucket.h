#pragma once
// The parameters of one block: fp32 masters and gradients in flat buffers, compute-dtype
// and packed copies made from them on demand.

#include <array>
#include <string>
#include <vector>

#include "titan/nn/scope.h"
#include "titan/ops/weight.h"

namespace titan::parallel {

using at::Tensor;

// Owns the storage of one block's parameters on this rank. Not thread-safe: one rank's
// thread.
class ParameterBucket final : public ops::WeightSource {
 public:
  // Compute copies have `compute_dtype` (fp32 or bf16).
  explicit ParameterBucket(at::ScalarType compute_dtype)
      : compute_dtype_(compute_dtype) {}

  // Adds a parameter; its index. REQUIRES: before materialize().
  int declare(const nn::ParameterSpec& spec);
  // Allocates the masters, uninitialised.
  void materialize();

  [[nodiscard]] size_t size() const { return specs_.size(); }

  [[nodiscard]] const nn::ParameterSpec& spec(int index) const {
    return specs_.at(static_cast<size_t>(index));
  }

  // fp32 master of the parameter's shape, a view. Whoever writes calls values_changed()
  // after.
  [[nodiscard]] Tensor master(int index) const { return view(master_, index); }

  // fp32 gradient of the parameter's shape, a view; zeros where nothing was added.
  [[nodiscard]] Tensor gradient(int index);

  // Flat fp32 [n] buffers over all parameters; the padding between them is zero.
  [[nodiscard]] const Tensor& flat_master() const { return master_; }

  [[nodiscard]] const Tensor& flat_gradient();

  // Where parameter `index` lies in the flat buffers, in elements.
  [[nodiscard]] int64_t offset(int index) const {
    return offsets_.at(static_cast<size_t>(index));
  }

  // Forgets the gradients, so that the next contribution is stored instead of added.
  void clear_gradients();
  // Drops every copy made from the masters.
  void values_changed();
  Tensor value(int index) override;
  Tensor rows(int index, const Tensor& which) override;
  Tensor packed(int index, ops::PackKind kind) override;

  // Drops all copies: at most one block has the backward's, and the update ends the
  // forward's.
  void backward_ended() override { values_changed(); }

  void add_grad(int index, const Tensor& dw) override;
  GradView grad_view(int index) override;

 private:
  [[nodiscard]] Tensor view(const Tensor& flat, int index) const;
  // The gradient's view with no claim that it holds a contribution.
  [[nodiscard]] Tensor gradient_buffer(int index);

  struct Copies {
    Tensor value;
    std::array<Tensor, 2> packed;  // by PackKind
  };

  at::ScalarType compute_dtype_;
  std::vector<nn::ParameterSpec> specs_;
  std::vector<int64_t> offsets_;
  int64_t total_ = 0;
  Tensor master_;
  Tensor gradient_;
  std::vector<bool> has_gradient_;
  std::vector<Copies> copies_;
};

}  // namespace titan::parallel
