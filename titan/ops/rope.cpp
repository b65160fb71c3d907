#include "titan/ops/rope.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/rows.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

void check(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
  TORCH_CHECK(
      x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16,
      "[rope] expected fp32 or bf16, got ",
      x.scalar_type());
  TORCH_CHECK(
      x.dim() == 3 && x.size(2) % 2 == 0 && x.is_contiguous(),
      "[rope] expected a contiguous [T, H, D] with even D, got ",
      x.sizes());
  for (const Tensor& table : {cosine, sine}) {
    TORCH_CHECK(
        table.scalar_type() == at::kFloat && table.is_contiguous() && table.dim() == 2 &&
            table.size(0) == x.size(0) && 2 * table.size(1) == x.size(2),
        "[rope] expected contiguous fp32 tables of shape [",
        x.size(0),
        ", ",
        x.size(2) / 2,
        "], got ",
        table.scalar_type(),
        " ",
        table.sizes());
  }
}

Tensor rotate(const Tensor& x, const Tensor& cosine, const Tensor& sine, bool inverse) {
  Tensor y = at::empty_like(x);
  const cpu::Rope args{
      .x = x.const_data_ptr(),
      .cosine = cosine.const_data_ptr<float>(),
      .sine = sine.const_data_ptr<float>(),
      .y = y.mutable_data_ptr(),
      .heads = x.size(1),
      .width = x.size(2),
      .inverse = inverse,
      .bf16 = x.scalar_type() == at::kBFloat16};
  const int64_t row = std::max<int64_t>(1, args.heads * args.width);
  const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE / row);
  at::parallel_for(0, x.size(0), grain, [&](int64_t begin, int64_t end) {
    cpu::rope(args, begin, end);
  });
  return y;
}

struct RopeFunction : torch::autograd::Function<RopeFunction> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& x, const Tensor& cosine, const Tensor& sine) {
    ctx->save_for_backward({cosine, sine});
    return rotate(x, cosine, sine, /*inverse=*/false);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {
        rotate(grads[0].contiguous(), saved[0], saved[1], /*inverse=*/true),
        Variable(),
        Variable()};
  }
};

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
  check(x, cosine, sine);
  if (!x.is_cpu()) {
    return rope_plain(x, cosine, sine);
  }
  return RopeFunction::apply(x, cosine, sine);
}

Tensor rope_plain(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
  const auto compute = x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type();
  const std::vector<Tensor> halves = x.to(compute).chunk(2, -1);
  const Tensor c = cosine.to(compute).unsqueeze(1);
  const Tensor s = sine.to(compute).unsqueeze(1);
  const Tensor first = halves[0] * c - halves[1] * s;
  const Tensor second = halves[1] * c + halves[0] * s;
  return at::cat({first, second}, -1).to(x.scalar_type());
}

}  // namespace titan::ops
