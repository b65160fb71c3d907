#include "titan/ops/swiglu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/rows.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check(const Tensor& gate, const Tensor& up) {
  TORCH_CHECK(
      gate.scalar_type() == at::kFloat || gate.scalar_type() == at::kBFloat16,
      "[swiglu] expected fp32 or bf16, got ",
      gate.scalar_type());
  TORCH_CHECK(
      up.scalar_type() == gate.scalar_type() && up.sizes() == gate.sizes(),
      "[swiglu] expected gate and up alike, got ",
      gate.scalar_type(),
      " ",
      gate.sizes(),
      " and ",
      up.scalar_type(),
      " ",
      up.sizes());
  TORCH_CHECK(
      gate.is_contiguous() && up.is_contiguous(), "[swiglu] expected contiguous inputs");
}

struct SwigluFunction : torch::autograd::Function<SwigluFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up) {
    ctx->save_for_backward({gate, up});
    Tensor y = at::empty_like(gate);
    const cpu::Swiglu args{
        .gate = gate.const_data_ptr(),
        .up = up.const_data_ptr(),
        .y = y.mutable_data_ptr(),
        .bf16 = gate.scalar_type() == at::kBFloat16};
    at::parallel_for(
        0, gate.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
          cpu::swiglu(args, begin, end);
        });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor dy = grads[0].contiguous();
    Tensor d_gate = at::empty_like(saved[0]);
    Tensor d_up = at::empty_like(saved[1]);
    const cpu::SwigluBackward args{
        .gate = saved[0].const_data_ptr(),
        .up = saved[1].const_data_ptr(),
        .dy = dy.const_data_ptr(),
        .d_gate = d_gate.mutable_data_ptr(),
        .d_up = d_up.mutable_data_ptr(),
        .bf16 = dy.scalar_type() == at::kBFloat16};
    at::parallel_for(
        0, dy.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
          cpu::swiglu_backward(args, begin, end);
        });
    return {d_gate, d_up};
  }
};

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  check(gate, up);
  return SwigluFunction::apply(gate, up);
}

Tensor swiglu_plain(const Tensor& gate, const Tensor& up) {
  const auto compute =
      gate.scalar_type() == at::kBFloat16 ? at::kFloat : gate.scalar_type();
  return (at::silu(gate.to(compute)) * up.to(compute)).to(gate.scalar_type());
}

}  // namespace titan::ops
