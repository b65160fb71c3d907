#include "titan/ops/head.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/cpu/vocabulary.h"
#include "titan/ops/library_op.h"
#include "titan/ops/saved_weight.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The rows that have a target; the others cost nothing.
struct TargetRows {
  Tensor index;  // int64; undefined where every row has one

  explicit TargetRows(const Tensor& targets) {
    const Tensor has_target = targets.ne(kIgnoreIndex);
    if (!has_target.all().item<bool>()) {
      index = has_target.nonzero().squeeze(1);
    }
  }

  [[nodiscard]] Tensor select(const Tensor& all) const {
    return index.defined() ? all.index_select(0, index) : all;
  }

  // The inverse of select, zero elsewhere.
  [[nodiscard]] Tensor spread(const Tensor& rows, int64_t count) const {
    if (!index.defined()) {
      return rows;
    }
    std::vector<int64_t> sizes = rows.sizes().vec();
    sizes[0] = count;
    return at::zeros(sizes, rows.options()).index_copy_(0, index, rows);
  }
};

Tensor run_backward(
    const cpu::ScoredRows& rows,
    const Tensor& log_sum_exp,
    const Tensor& grad,
    const WeightHandle& handle,
    bool want_dx,
    bool want_dw) {
  std::optional<WeightSource::GradView> view;
  if (want_dw) {
    view = handle.source->grad_view(handle.index);
  }
  if (rows.x.size(0) == 0) {
    if (view && !view->accumulate) {
      view->buffer.zero_();
    }
    return want_dx ? at::empty_like(rows.x) : Tensor();
  }
  const cpu::HeadBackward args{
      rows,
      log_sum_exp,
      grad,
      handle.packed(PackKind::kForward),
      want_dx ? handle.packed(PackKind::kBackward) : Tensor()};
  return cpu::head_backward(args, view);
}

struct TargetLogprobsFunction : torch::autograd::Function<TargetLogprobsFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& x,
      const Tensor& stub,
      const Tensor& targets,
      const WeightHandle& handle,
      OpContext* context) {
    const TargetRows rows(targets);
    const cpu::ScoredRows scored{
        rows.select(x), rows.select(targets).contiguous(), stub.size(0)};
    cpu::RowScores scores{
        at::empty({0}, x.options().dtype(at::kFloat)),
        at::empty({0}, x.options().dtype(at::kFloat))};
    if (scored.x.size(0) > 0) {
      const auto [least, most] = at::aminmax(scored.targets);
      TORCH_CHECK(
          least.item<int64_t>() >= 0 && most.item<int64_t>() < stub.size(0),
          "[target_logprobs] expected targets in [0, ",
          stub.size(0),
          "), got ",
          least.item<int64_t>() < 0 ? least.item<int64_t>() : most.item<int64_t>());
      scores = cpu::score_rows(scored, handle.packed(PackKind::kForward));
    }
    ctx->save_for_backward({x, targets, scores.log_sum_exp});
    save_weight(ctx, handle, context);
    ctx->saved_data["vocabulary"] = stub.size(0);
    return rows.spread(scores.logprob, x.size(0));
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const SavedWeight weight = saved_weight(ctx);
    const WeightHandle handle = weight.handle;
    const TargetRows rows(saved[1]);
    const cpu::ScoredRows scored{
        rows.select(saved[0]),
        rows.select(saved[1]).contiguous(),
        ctx->saved_data["vocabulary"].toInt()};
    const Tensor log_sum_exp = saved[2];
    const Tensor grad = rows.select(grads[0]).contiguous();

    const bool want_dx = ctx->needs_input_grad(kInputX);
    const bool want_dw = ctx->needs_input_grad(kInputStub);
    const bool defer = want_dw && weight.context->defer != nullptr;
    Tensor dx;
    if (want_dx || !defer) {
      dx = run_backward(scored, log_sum_exp, grad, handle, want_dx, want_dw && !defer);
    }
    if (defer) {
      weight.context->defer->push([scored, log_sum_exp, grad, handle] {
        run_backward(
            scored, log_sum_exp, grad, handle, /*want_dx=*/false, /*want_dw=*/true);
      });
    }
    if (dx.defined()) {
      dx = rows.spread(dx, saved[0].size(0));
    }
    return {dx, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

void check_rows(const char* op, const Tensor& x, const Weight& weight) {
  TORCH_CHECK(
      x.dim() == 2 && weight.stub.dim() == 2 && x.size(1) == weight.stub.size(1),
      "[",
      op,
      "] expected rows [T, D] and a weight [V, D], got ",
      x.sizes(),
      " and ",
      weight.sizes());
  TORCH_CHECK(x.is_contiguous(), "[", op, "] expected contiguous rows");
}

}  // namespace

Tensor target_logprobs(
    const Tensor& x, const Weight& weight, const Tensor& targets, OpContext& context) {
  check_rows("target_logprobs", x, weight);
  TORCH_CHECK(
      targets.scalar_type() == at::kLong && targets.dim() == 1 &&
          targets.size(0) == x.size(0),
      "[target_logprobs] expected int64 targets [",
      x.size(0),
      "], got ",
      targets.scalar_type(),
      " ",
      targets.sizes());
  if (!x.is_cpu()) {
    const auto plain = [](const auto& inputs, const auto& weights) {
      return std::vector{target_logprobs_plain(inputs[0], weights[0], inputs[1])};
    };
    return library_op(plain, {x, targets}, {weight}, context, "head").at(0);
  }
  return TargetLogprobsFunction::apply(x, weight.stub, targets, weight.handle, &context);
}

Tensor logits(const Tensor& x, const Weight& weight) {
  check_rows("logits", x, weight);
  if (!x.is_cpu()) {
    return at::linear(x.detach(), weight.value()).to(at::kFloat);
  }
  const Tensor packed = weight.handle.packed(PackKind::kForward);
  return cpu::gemm(x.detach(), packed, weight.stub.size(0), at::kFloat);
}

Tensor log_sum_exp(const Tensor& logits) {
  TORCH_CHECK(
      logits.dim() == 2 && logits.scalar_type() == at::kFloat && logits.is_contiguous(),
      "[log_sum_exp] expected contiguous float32 logits [T, V], got ",
      logits.scalar_type(),
      " ",
      logits.sizes());
  return logits.is_cpu() ? cpu::log_sum_exp_rows(logits) : at::logsumexp(logits, 1);
}

Tensor target_logprobs_plain(
    const Tensor& x, const Tensor& weight, const Tensor& targets) {
  const Tensor rows = at::log_softmax(at::linear(x, weight).to(at::kFloat), 1);
  const Tensor has_target = targets.ne(kIgnoreIndex);
  const Tensor picked = rows.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1);
  return picked.masked_fill(has_target.logical_not(), 0);
}

}  // namespace titan::ops
