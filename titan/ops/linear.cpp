#include "titan/ops/linear.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/cpu/weight_grad.h"
#include "titan/ops/library_op.h"
#include "titan/ops/saved_weight.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& x,
      const Tensor& stub,
      const WeightHandle& handle,
      OpContext* context,
      std::string_view name) {
    ctx->save_for_backward({x});
    save_weight(ctx, handle, context);
    RematFrame* remat = context->remat;
    if (remat != nullptr && remat->replays(name)) {
      return remat->take(name).at(0);
    }
    const Tensor packed = handle.packed(PackKind::kForward);
    Tensor y = cpu::gemm(x, packed, stub.size(0), x.scalar_type());
    if (remat != nullptr && remat->records(name)) {
      // Detached: what is kept must not hold this graph.
      remat->put(name, {y.detach()});
    }
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor x = ctx->get_saved_variables().at(0);
    const SavedWeight weight = saved_weight(ctx);
    const Tensor dy = grads[0].contiguous();
    Tensor dx;
    if (ctx->needs_input_grad(kInputX)) {
      const Tensor packed = weight.handle.packed(PackKind::kBackward);
      dx = cpu::gemm(dy, packed, x.size(1), x.scalar_type());
    }
    if (ctx->needs_input_grad(kInputStub)) {
      const auto add_weight_grad = [x, dy, handle = weight.handle] {
        cpu::weight_grad(dy, x, handle.source->grad_view(handle.index));
      };
      if (weight.context->defer != nullptr) {
        weight.context->defer->push(add_weight_grad);
      } else {
        add_weight_grad();
      }
    }
    return {dx, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor linear(
    const Tensor& x, const Weight& weight, OpContext& context, std::string_view name) {
  TORCH_CHECK(
      x.dim() == 2 && weight.stub.dim() == 2 && x.size(1) == weight.stub.size(1),
      "[linear] expected rows [T, K] and a weight [N, K], got ",
      x.sizes(),
      " and ",
      weight.sizes());
  TORCH_CHECK(x.is_contiguous(), "[linear] expected contiguous rows");
  if (!x.is_cpu()) {
    const auto plain = [](const auto& inputs, const auto& weights) {
      return std::vector{linear_plain(inputs[0], weights[0])};
    };
    return library_op(plain, {x}, {weight}, context, name).at(0);
  }
  return LinearFunction::apply(x, weight.stub, weight.handle, &context, name);
}

Tensor linear_plain(const Tensor& x, const Tensor& weight) {
  return at::linear(x, weight);
}

}  // namespace titan::ops
