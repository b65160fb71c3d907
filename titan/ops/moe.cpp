#include "titan/ops/moe.h"

#include <cstring>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/moe_rows.h"
#include "titan/ops/cpu/parallel.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_rows(const char* op, const Tensor& x, int64_t rows) {
  TORCH_CHECK(
      (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
          x.dim() == 2 && x.size(0) == rows && x.is_contiguous(),
      "[",
      op,
      "] expected contiguous fp32 or bf16 rows [",
      rows,
      ", D], got ",
      x.scalar_type(),
      " ",
      x.sizes());
}

// Row r of the result is row slots[r] / k of x.
Tensor gather(const Tensor& x, const Tensor& slots, int64_t k) {
  const Tensor y = at::empty({slots.numel(), x.size(1)}, x.options());
  const auto* slot = slots.const_data_ptr<int64_t>();
  const auto* from = static_cast<const std::byte*>(x.const_data_ptr());
  auto* to = static_cast<std::byte*>(y.mutable_data_ptr());
  const size_t bytes = static_cast<size_t>(x.size(1)) * x.element_size();
  cpu::parallel_tasks(slots.numel(), [&](cpu::Range part) {
    for (int64_t r = part.begin; r < part.end; ++r) {
      std::memcpy(to + r * bytes, from + slot[r] / k * bytes, bytes);
    }
  });
  return y;
}

// Weights undefined: all 1.
Tensor combine(const Tensor& y, const Tensor& weights, const Tensor& rows) {
  const Tensor out = at::empty({rows.size(0), y.size(1)}, y.options());
  const cpu::CombineRows args{
      .y = y.const_data_ptr(),
      .rows = rows.const_data_ptr<int64_t>(),
      .weights = weights.defined() ? weights.const_data_ptr<float>() : nullptr,
      .out = out.mutable_data_ptr(),
      .slots = rows.size(1),
      .width = y.size(1),
      .bf16 = y.scalar_type() == at::kBFloat16};
  cpu::parallel_tasks(rows.size(0), [&](cpu::Range tokens) {
    cpu::combine_rows(args, tokens.begin, tokens.end);
  });
  return out;
}

struct ToExpertOrderFunction : torch::autograd::Function<ToExpertOrderFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const ExpertOrder& order) {
    ctx->save_for_backward({order.rows});
    return gather(x, order.slots, order.rows.size(1));
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor rows = ctx->get_saved_variables().at(0);
    return {combine(grads[0].contiguous(), Tensor(), rows), Tensor()};
  }
};

struct ToTokenOrderFunction : torch::autograd::Function<ToTokenOrderFunction> {
  static Tensor forward(AutogradContext* ctx, const Tensor& y, const ExpertOrder& order) {
    ctx->save_for_backward({order.slots});
    ctx->saved_data["k"] = order.rows.size(1);
    return combine(y, Tensor(), order.rows);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor slots = ctx->get_saved_variables().at(0);
    const int64_t k = ctx->saved_data.at("k").toInt();
    return {gather(grads[0].contiguous(), slots, k), Tensor()};
  }
};

struct CombineFunction : torch::autograd::Function<CombineFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& y,
      const Tensor& weights,
      const ExpertOrder& order) {
    ctx->save_for_backward({y, weights, order.rows});
    return combine(y, weights, order.rows);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& y = saved[0];
    const Tensor& weights = saved[1];
    const Tensor& rows = saved[2];
    const Tensor d_out = grads[0].contiguous();
    const Tensor d_y = at::empty_like(y);
    const Tensor d_weights = at::empty_like(weights);
    const cpu::CombineRowsBackward args{
        .y = y.const_data_ptr(),
        .rows = rows.const_data_ptr<int64_t>(),
        .weights = weights.const_data_ptr<float>(),
        .d_out = d_out.const_data_ptr(),
        .d_y = d_y.mutable_data_ptr(),
        .d_weights = d_weights.mutable_data_ptr<float>(),
        .slots = rows.size(1),
        .width = y.size(1),
        .bf16 = y.scalar_type() == at::kBFloat16};
    cpu::parallel_tasks(rows.size(0), [&](cpu::Range tokens) {
      cpu::combine_rows_backward(args, tokens.begin, tokens.end);
    });
    return {d_y, d_weights, Tensor()};
  }
};

}  // namespace

Tensor ExpertOrder::counts() const {
  return offsets.diff();
}

ExpertOrder expert_order(const Tensor& experts, int64_t num_experts) {
  TORCH_CHECK(
      experts.scalar_type() == at::kLong && experts.dim() == 2 && experts.is_contiguous(),
      "[expert_order] expected contiguous int64 [T, k], got ",
      experts.scalar_type(),
      " ",
      experts.sizes());
  if (!experts.is_cpu()) {
    return expert_order_plain(experts, num_experts);
  }
  const int64_t count = experts.numel();
  ExpertOrder order{
      .offsets = at::zeros({num_experts + 1}, experts.options()),
      .rows = at::empty_like(experts),
      .slots = at::empty({count}, experts.options())};
  const auto* expert = experts.const_data_ptr<int64_t>();
  auto* offsets = order.offsets.mutable_data_ptr<int64_t>();
  auto* rows = order.rows.mutable_data_ptr<int64_t>();
  auto* slots = order.slots.mutable_data_ptr<int64_t>();
  // Counting sort.
  for (int64_t slot = 0; slot < count; ++slot) {
    TORCH_CHECK(
        expert[slot] >= 0 && expert[slot] < num_experts,
        "[expert_order] expected experts in [0, ",
        num_experts,
        "), got ",
        expert[slot]);
    ++offsets[expert[slot] + 1];
  }
  for (int64_t e = 0; e < num_experts; ++e) {
    offsets[e + 1] += offsets[e];
  }
  std::vector<int64_t> next(offsets, offsets + num_experts);
  for (int64_t slot = 0; slot < count; ++slot) {
    const int64_t row = next[static_cast<size_t>(expert[slot])]++;
    rows[slot] = row;
    slots[row] = slot;
  }
  return order;
}

Tensor to_expert_order(const Tensor& x, const ExpertOrder& order) {
  check_rows("to_expert_order", x, order.rows.size(0));
  return x.is_cpu() ? ToExpertOrderFunction::apply(x, order)
                    : to_expert_order_plain(x, order);
}

Tensor to_token_order(const Tensor& y, const ExpertOrder& order) {
  check_rows("to_token_order", y, order.slots.numel());
  return y.is_cpu() ? ToTokenOrderFunction::apply(y, order)
                    : to_token_order_plain(y, order);
}

Tensor combine_experts(const Tensor& y, const Tensor& weights, const ExpertOrder& order) {
  check_rows("combine_experts", y, order.slots.numel());
  TORCH_CHECK(
      weights.scalar_type() == at::kFloat && weights.sizes() == order.rows.sizes() &&
          weights.is_contiguous(),
      "[combine_experts] expected contiguous fp32 weights ",
      order.rows.sizes(),
      ", got ",
      weights.scalar_type(),
      " ",
      weights.sizes());
  return y.is_cpu() ? CombineFunction::apply(y, weights, order)
                    : combine_experts_plain(y, weights, order);
}

ExpertOrder expert_order_plain(const Tensor& experts, int64_t num_experts) {
  const Tensor flat = experts.flatten();
  const Tensor slots = std::get<1>(flat.sort(/*stable=*/true, /*dim=*/0, false));
  const Tensor ends = flat.bincount({}, num_experts).cumsum(0);
  return {
      .offsets = at::cat({at::zeros({1}, ends.options()), ends}),
      .rows = slots.argsort().view_as(experts),
      .slots = slots};
}

Tensor to_expert_order_plain(const Tensor& x, const ExpertOrder& order) {
  return x.index_select(0, order.slots.floor_divide(order.rows.size(1)));
}

Tensor to_token_order_plain(const Tensor& y, const ExpertOrder& order) {
  return y.index({order.rows}).sum(1);
}

Tensor combine_experts_plain(
    const Tensor& y, const Tensor& weights, const ExpertOrder& order) {
  const Tensor rows = y.index({order.rows}).to(weights.scalar_type());
  return (rows * weights.unsqueeze(2)).sum(1).to(y.scalar_type());
}

}  // namespace titan::ops
