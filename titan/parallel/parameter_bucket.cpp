#include "titan/parallel/parameter_bucket.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/pack.h"

namespace titan::parallel {
namespace {

// Parameters start on 64-byte borders of the flat buffers.
constexpr int64_t kAlignment = 16;

int64_t count(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) {
    elements *= size;
  }
  return elements;
}

}  // namespace

int ParameterBucket::declare(const nn::ParameterSpec& spec) {
  TORCH_INTERNAL_ASSERT(!master_.defined(), "a parameter after materialize()");
  specs_.push_back(spec);
  offsets_.push_back(total_);
  total_ += (count(spec.shape) + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<int>(specs_.size()) - 1;
}

void ParameterBucket::materialize() {
  master_ = at::zeros({total_}, at::kFloat);
  has_gradient_.assign(specs_.size(), false);
  copies_.resize(specs_.size());
}

Tensor ParameterBucket::gradient(int index) {
  Tensor buffer = gradient_buffer(index);
  if (!has_gradient_.at(static_cast<size_t>(index))) {
    buffer.zero_();
  }
  return buffer;
}

const Tensor& ParameterBucket::flat_gradient() {
  for (int i = 0; i < static_cast<int>(specs_.size()); ++i) {
    (void)gradient(i);
  }
  return gradient_;
}

void ParameterBucket::clear_gradients() {
  has_gradient_.assign(specs_.size(), false);
}

void ParameterBucket::values_changed() {
  copies_.assign(specs_.size(), {});
}

Tensor ParameterBucket::value(int index) {
  if (compute_dtype_ == at::kFloat) {
    return master(index);
  }
  Tensor& value = copies_.at(static_cast<size_t>(index)).value;
  if (!value.defined()) {
    value = master(index).to(compute_dtype_);
  }
  return value;
}

Tensor ParameterBucket::rows(int index, const Tensor& which) {
  return master(index).index_select(0, which).to(compute_dtype_);
}

Tensor ParameterBucket::packed(int index, ops::PackKind kind) {
  Tensor& packed =
      copies_.at(static_cast<size_t>(index)).packed.at(static_cast<size_t>(kind));
  if (!packed.defined()) {
    packed = ops::cpu::pack_weight(master(index), kind, compute_dtype_);
  }
  return packed;
}

void ParameterBucket::add_grad(int index, const Tensor& dw) {
  const GradView view = grad_view(index);
  if (view.accumulate) {
    view.buffer.add_(dw);
  } else {
    view.buffer.copy_(dw);
  }
}

ops::WeightSource::GradView ParameterBucket::grad_view(int index) {
  const bool accumulate = has_gradient_.at(static_cast<size_t>(index));
  has_gradient_[static_cast<size_t>(index)] = true;
  return {gradient_buffer(index), accumulate};
}

Tensor ParameterBucket::view(const Tensor& flat, int index) const {
  TORCH_CHECK(flat.defined(), "[parameters] ", spec(index).name, " is not materialized");
  const std::vector<int64_t>& shape = spec(index).shape;
  return flat.narrow(0, offset(index), count(shape)).view(shape);
}

Tensor ParameterBucket::gradient_buffer(int index) {
  if (!gradient_.defined()) {
    gradient_ = at::zeros({total_}, at::kFloat);
  }
  return view(gradient_, index);
}

}  // namespace titan::parallel
