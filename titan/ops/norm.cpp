#include "titan/ops/norm.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/rows.h"
#include "titan/ops/saved_weight.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// The weight gradient is summed in fp32 within blocks of this many rows, and over the
// blocks in order in double.
constexpr int64_t kBlockRows = 32;

void check(const Tensor& x, const Weight& weight) {
  TORCH_CHECK(
      x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16,
      "[rms_norm] expected fp32 or bf16, got ",
      x.scalar_type());
  TORCH_CHECK(x.is_contiguous(), "[rms_norm] expected a contiguous input");
  TORCH_CHECK(
      x.dim() >= 1 && x.size(-1) > 0 && weight.sizes() == x.sizes().slice(x.dim() - 1),
      "[rms_norm] expected a weight of the input's last dimension, got ",
      weight.sizes(),
      " for ",
      x.sizes());
}

// fp32 values, whatever the compute dtype: one row beside many.
Tensor weight_values(const WeightHandle& weight) {
  return weight.value().to(at::kFloat).contiguous();
}

// to[c] = sum over b of partial[b, c].
void add_blocks(const Tensor& partial, const Tensor& to) {
  const int64_t blocks = partial.size(0);
  const int64_t width = partial.size(1);
  const auto* from = partial.const_data_ptr<float>();
  auto* out = to.mutable_data_ptr<float>();
  const int64_t grain = std::max<int64_t>(64, at::internal::GRAIN_SIZE / (blocks + 1));
  at::parallel_for(0, width, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(end - begin));
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        sums[c - begin] += from[b * width + c];
      }
    }
    std::copy(sums.begin(), sums.end(), out + begin);
  });
}

struct NormFunction : torch::autograd::Function<NormFunction> {
  // `stub` only ties the weight to the graph.
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& x,
      const Tensor& /*stub*/,
      const WeightHandle& weight,
      double eps,
      OpContext* context) {
    const int64_t width = x.size(-1);
    const int64_t rows = x.numel() / width;
    const Tensor w = weight_values(weight);
    Tensor y = at::empty_like(x);
    Tensor inverse_rms = at::empty({rows}, x.options().dtype(at::kFloat));
    const cpu::RmsNorm args{
        .x = x.const_data_ptr(),
        .weight = w.const_data_ptr<float>(),
        .y = y.mutable_data_ptr(),
        .inverse_rms = inverse_rms.mutable_data_ptr<float>(),
        .width = width,
        .eps = static_cast<float>(eps),
        .bf16 = x.scalar_type() == at::kBFloat16};
    const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE / width);
    at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
      cpu::rms_norm(args, begin, end);
    });
    ctx->save_for_backward({x, inverse_rms});
    save_weight(ctx, weight, context);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor dy = grads[0].contiguous();
    const WeightHandle weight = saved_weight(ctx).handle;
    const int64_t width = x.size(-1);
    const int64_t rows = x.numel() / width;
    const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
    const bool wants_dx = ctx->needs_input_grad(kInputX);
    const bool wants_dw = ctx->needs_input_grad(kInputStub);
    const Tensor w = weight_values(weight);
    Tensor dx = wants_dx ? at::empty_like(x) : Tensor();
    Tensor partial = wants_dw ? at::empty({blocks, width}, w.options()) : Tensor();
    const cpu::RmsNormBackward args{
        .x = x.const_data_ptr(),
        .dy = dy.const_data_ptr(),
        .weight = w.const_data_ptr<float>(),
        .inverse_rms = saved[1].const_data_ptr<float>(),
        .dx = wants_dx ? dx.mutable_data_ptr() : nullptr,
        .width = width,
        .bf16 = x.scalar_type() == at::kBFloat16};
    float* sums = wants_dw ? partial.mutable_data_ptr<float>() : nullptr;
    const int64_t grain =
        std::max<int64_t>(1, at::internal::GRAIN_SIZE / (kBlockRows * width));
    at::parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        cpu::rms_norm_backward(
            args,
            b * kBlockRows,
            std::min(rows, (b + 1) * kBlockRows),
            wants_dw ? sums + b * width : nullptr);
      }
    });
    if (wants_dw) {
      const Tensor dw = at::empty({width}, w.options());
      add_blocks(partial, dw);
      weight.source->add_grad(weight.index, dw);
    }
    return {dx, Variable(), Variable(), Variable(), Variable()};
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Weight& weight, double eps, OpContext& context) {
  check(x, weight);
  return NormFunction::apply(x, weight.stub, weight.handle, eps, &context);
}

Tensor rms_norm_plain(const Tensor& x, const Tensor& weight, double eps) {
  const auto compute = x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type();
  const Tensor wide = x.to(compute);
  const Tensor normed = wide * at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return weight.to(x.scalar_type()) * normed.to(x.scalar_type());
}

}  // namespace titan::ops
