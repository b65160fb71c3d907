#include "titan/ops/router.h"

#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/router_rows.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check(const Tensor& logits, const RouterArgs& args) {
  TORCH_CHECK(
      (logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kBFloat16) &&
          logits.dim() == 2 && logits.is_contiguous(),
      "[router] expected contiguous fp32 or bf16 logits [T, E], got ",
      logits.scalar_type(),
      " ",
      logits.sizes());
  const int64_t experts = logits.size(1);
  TORCH_CHECK(
      args.num_groups >= 1 && args.kept_groups >= 1 &&
          args.kept_groups <= args.num_groups && experts % args.num_groups == 0 &&
          (args.kept_groups == args.num_groups || experts / args.num_groups >= 2),
      "[router] expected ",
      experts,
      " experts in equal groups of at least 2, of which some are kept; got ",
      args.num_groups,
      " groups, ",
      args.kept_groups,
      " kept");
  const int64_t eligible = experts / args.num_groups * args.kept_groups;
  TORCH_CHECK(
      args.top_k >= 1 && args.top_k <= eligible,
      "[router] expected top_k from 1 to the ",
      eligible,
      " experts that may be chosen, got ",
      args.top_k);
  TORCH_CHECK(
      !(args.renormalize && args.score == RouterScore::kSoftmaxOfChosen),
      "[router] a softmax of the chosen experts sums to 1: it takes no renormalize");
}

struct RouteFunction : torch::autograd::Function<RouteFunction> {
  // `chosen` has no value where the experts are to be chosen.
  static variable_list forward(
      AutogradContext* ctx,
      const Tensor& logits,
      const std::optional<Tensor>& bias,
      const std::optional<Tensor>& chosen,
      const RouterArgs& args) {
    const int64_t tokens = logits.size(0);
    const Tensor experts =
        at::empty({tokens, args.top_k}, logits.options().dtype(at::kLong));
    const Tensor weights =
        at::empty({tokens, args.top_k}, logits.options().dtype(at::kFloat));
    const cpu::RouterRows rows{
        .logits = logits.const_data_ptr(),
        .bias = bias ? bias->const_data_ptr<float>() : nullptr,
        .chosen = chosen ? chosen->const_data_ptr<int64_t>() : nullptr,
        .experts = experts.mutable_data_ptr<int64_t>(),
        .weights = weights.mutable_data_ptr<float>(),
        .num_experts = logits.size(1),
        .router = args,
        .bf16 = logits.scalar_type() == at::kBFloat16};
    cpu::parallel_tasks(
        tokens, [&](cpu::Range part) { cpu::route_rows(rows, part.begin, part.end); });
    ctx->save_for_backward({logits, experts});
    ctx->saved_data["args"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedArgs>(args));
    ctx->mark_non_differentiable({experts});
    return {experts, weights};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& logits = saved[0];
    const Tensor d_weights = grads[1].contiguous();
    const Tensor d_logits = at::empty_like(logits);
    const auto capsule = ctx->saved_data.at("args").toCapsule();
    const cpu::RouterRowsBackward rows{
        .logits = logits.const_data_ptr(),
        .experts = saved[1].const_data_ptr<int64_t>(),
        .d_weights = d_weights.const_data_ptr<float>(),
        .d_logits = d_logits.mutable_data_ptr(),
        .num_experts = logits.size(1),
        .router = static_cast<const SavedArgs&>(*capsule).args,
        .bf16 = logits.scalar_type() == at::kBFloat16};
    cpu::parallel_tasks(logits.size(0), [&](cpu::Range part) {
      cpu::route_rows_backward(rows, part.begin, part.end);
    });
    return {d_logits, Tensor(), Tensor(), Tensor()};
  }

  struct SavedArgs : torch::CustomClassHolder {
    explicit SavedArgs(const RouterArgs& a) : args(a) {}

    RouterArgs args;
  };
};

Tensor scores_plain(const Tensor& logits, RouterScore score) {
  switch (score) {
    case RouterScore::kSoftmax:
      return at::softmax(logits, -1);
    case RouterScore::kSoftmaxOfChosen:
      return logits;
    case RouterScore::kSigmoid:
      return at::sigmoid(logits);
    case RouterScore::kSqrtSoftplus:
      return at::softplus(logits).sqrt();
  }
  return {};
}

// fp32, or fp64 where the logits are.
Tensor widened(const Tensor& logits) {
  return logits.scalar_type() == at::kBFloat16 ? logits.to(at::kFloat) : logits;
}

}  // namespace

Routing route(const Tensor& logits, const Tensor& bias, const RouterArgs& args) {
  check(logits, args);
  TORCH_CHECK(
      !bias.defined() || (bias.scalar_type() == at::kFloat && bias.is_contiguous() &&
                          bias.sizes() == at::IntArrayRef({logits.size(1)})),
      "[router] expected an fp32 bias [",
      logits.size(1),
      "]");
  if (!logits.is_cpu()) {
    return route_plain(logits, bias, args);
  }
  const auto given = bias.defined() ? std::optional(bias) : std::nullopt;
  const variable_list out =
      RouteFunction::apply(logits, given, std::optional<Tensor>(), args);
  return {.experts = out[0], .weights = out[1]};
}

Tensor route_to(const Tensor& logits, const Tensor& experts, const RouterArgs& args) {
  check(logits, args);
  TORCH_CHECK(
      experts.scalar_type() == at::kLong && experts.is_contiguous() &&
          experts.sizes() == at::IntArrayRef({logits.size(0), args.top_k}),
      "[router] expected contiguous int64 experts [",
      logits.size(0),
      ", ",
      args.top_k,
      "], got ",
      experts.scalar_type(),
      " ",
      experts.sizes());
  if (experts.numel() > 0) {
    const auto [least, most] = at::aminmax(experts);
    TORCH_CHECK(
        least.item<int64_t>() >= 0 && most.item<int64_t>() < logits.size(1),
        "[router] expected experts in [0, ",
        logits.size(1),
        "), got ",
        least.item<int64_t>() < 0 ? least.item<int64_t>() : most.item<int64_t>());
  }
  if (!logits.is_cpu()) {
    return route_to_plain(logits, experts, args);
  }
  return RouteFunction::apply(
      logits, std::optional<Tensor>(), std::optional(experts), args)[1];
}

Tensor route_to_plain(
    const Tensor& logits, const Tensor& experts, const RouterArgs& args) {
  Tensor weights = scores_plain(widened(logits), args.score).gather(1, experts);
  if (args.score == RouterScore::kSoftmaxOfChosen) {
    weights = at::softmax(weights, -1);
  }
  if (args.renormalize) {
    weights = weights / (weights.sum(-1, /*keepdim=*/true) + args.epsilon);
  }
  return weights * args.scale;
}

Routing route_plain(const Tensor& logits, const Tensor& bias, const RouterArgs& args) {
  Tensor choice = scores_plain(widened(logits).detach(), args.score);
  if (bias.defined()) {
    choice = choice + bias;
  }
  if (args.kept_groups < args.num_groups) {
    const Tensor groups = choice.view({choice.size(0), args.num_groups, -1});
    const Tensor sums = std::get<0>(groups.topk(2, -1)).sum(-1);
    const Tensor kept = std::get<1>(sums.topk(args.kept_groups, -1));
    const Tensor dropped = at::ones_like(sums, at::kBool).scatter(1, kept, false);
    const double lowest = -std::numeric_limits<double>::infinity();
    choice = groups.masked_fill(dropped.unsqueeze(-1), lowest).flatten(1);
  }
  const Tensor experts = std::get<1>(choice.topk(args.top_k, -1));
  return {experts, route_to_plain(logits, experts, args)};
}

}  // namespace titan::ops
