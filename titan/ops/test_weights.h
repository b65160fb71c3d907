#pragma once
// A WeightSource for tests: plain tensors, gradients in fp32 buffers of their own.

#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/cpu/pack.h"
#include "titan/ops/weight.h"

namespace titan::ops {

class TestWeights : public WeightSource {
 public:
  // `value` is the parameter in the compute dtype.
  Weight add(Tensor value, bool trained = true) {
    const Tensor one = at::zeros({1}, value.options());
    const int index = static_cast<int>(entries_.size());
    Weight weight{one.expand(value.sizes()), {this, index}};
    weight.stub.set_requires_grad(trained);
    entries_.push_back({std::move(value), {}, {}, false});
    return weight;
  }

  // What backward has given since the start or clear_grads(); undefined when it gave
  // nothing.
  [[nodiscard]] Tensor grad(const Weight& weight) const {
    const Entry& e = entry(weight.handle.index);
    return e.written ? e.grad : Tensor();
  }

  void clear_grads() {
    for (Entry& e : entries_) {
      e.written = false;
    }
  }

  Tensor value(int index) override { return entry(index).value; }

  Tensor rows(int index, const Tensor& which) override {
    return entry(index).value.index_select(0, which);
  }

  void backward_ended() override {}

  Tensor packed(int index, PackKind kind) override {
    Entry& e = entry(index);
    Tensor& packed = e.packed[static_cast<size_t>(kind)];
    if (!packed.defined()) {
      packed = cpu::pack_weight(e.value, kind, e.value.scalar_type());
    }
    return packed;
  }

  void add_grad(int index, const Tensor& dw) override {
    const GradView view = grad_view(index);
    if (view.accumulate) {
      view.buffer.add_(dw.to(at::kFloat));
    } else {
      view.buffer.copy_(dw);
    }
  }

  GradView grad_view(int index) override {
    Entry& e = entry(index);
    if (!e.grad.defined()) {
      // NaN shows an op that adds where it must store, or leaves an element out.
      e.grad = at::full(e.value.sizes(), NAN, e.value.options().dtype(at::kFloat));
    }
    return {e.grad, std::exchange(e.written, true)};
  }

 private:
  struct Entry {
    Tensor value;
    Tensor packed[2];
    Tensor grad;
    bool written = false;
  };

  [[nodiscard]] const Entry& entry(int index) const {
    return entries_.at(static_cast<size_t>(index));
  }

  [[nodiscard]] Entry& entry(int index) {
    return entries_.at(static_cast<size_t>(index));
  }

  std::vector<Entry> entries_;
};

}  // namespace titan::ops
