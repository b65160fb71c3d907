#include "titan/ops/grouped_linear.h"

#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/cpu/grouped_gemm.h"
#include "titan/ops/cpu/moe_rows.h"
#include "titan/ops/library_op.h"
#include "titan/ops/saved_weight.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr size_t kOffsets = 1;  // among the saved variables

cpu::GroupOffsets offsets_of(const Tensor& offsets) {
  return {offsets.const_data_ptr<int64_t>(), static_cast<size_t>(offsets.numel())};
}

void check_offsets(const char* op, const Tensor& offsets, int64_t groups, int64_t rows) {
  TORCH_CHECK(
      offsets.scalar_type() == at::kLong && offsets.is_contiguous() &&
          offsets.sizes() == at::IntArrayRef({groups + 1}),
      "[",
      op,
      "] expected int64 offsets [",
      groups + 1,
      "], got ",
      offsets.scalar_type(),
      " ",
      offsets.sizes());
  const Tensor host = offsets.cpu();
  const cpu::GroupOffsets bounds = offsets_of(host);
  TORCH_CHECK(
      bounds.front() == 0 && bounds.back() == rows &&
          std::is_sorted(bounds.begin(), bounds.end()),
      "[",
      op,
      "] expected offsets that ascend from 0 to the ",
      rows,
      " rows, got ",
      bounds.front(),
      " to ",
      bounds.back());
}

// Runs the task now, or puts it off where the block runner asks for that.
template <class Task>
void run_or_defer(const OpContext& context, Task task) {
  if (context.defer != nullptr) {
    context.defer->push(std::move(task));
  } else {
    task();
  }
}

struct GroupedLinearFunction : torch::autograd::Function<GroupedLinearFunction> {
  struct Region {
    OpContext* context;
    std::string_view name;
  };

  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& x,
      const Tensor& stub,
      const Tensor& offsets,
      const WeightHandle& handle,
      const Region& region) {
    ctx->save_for_backward({x, offsets});
    save_weight(ctx, handle, region.context);
    RematFrame* remat = region.context->remat;
    if (remat != nullptr && remat->replays(region.name)) {
      return remat->take(region.name).at(0);
    }
    const Tensor packed = handle.packed(PackKind::kForward);
    Tensor y = cpu::grouped_gemm(x, offsets_of(offsets), packed, stub.size(1));
    if (remat != nullptr && remat->records(region.name)) {
      // Detached: what is kept must not hold this graph.
      remat->put(region.name, {y.detach()});
    }
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor x = saved.at(0);
    const Tensor offsets = saved.at(kOffsets);
    const SavedWeight weight = saved_weight(ctx);
    const Tensor dy = grads[0].contiguous();
    Tensor dx;
    if (ctx->needs_input_grad(kInputX)) {
      const Tensor packed = weight.handle.packed(PackKind::kBackward);
      dx = cpu::grouped_gemm(dy, offsets_of(offsets), packed, x.size(1));
    }
    if (ctx->needs_input_grad(kInputStub)) {
      run_or_defer(*weight.context, [x, dy, offsets, handle = weight.handle] {
        const auto view = handle.source->grad_view(handle.index);
        cpu::grouped_weight_grad(dy, x, offsets_of(offsets), view);
      });
    }
    return {dx, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

struct GroupedBiasFunction : torch::autograd::Function<GroupedBiasFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& y,
      const Tensor& stub,
      const Tensor& offsets,
      const WeightHandle& handle,
      OpContext* context) {
    ctx->save_for_backward({offsets});
    save_weight(ctx, handle, context);
    const Tensor out = at::empty_like(y);
    const Tensor bias = handle.value();
    const cpu::GroupBias args{
        .y = y.const_data_ptr(),
        .bias = bias.const_data_ptr(),
        .out = out.mutable_data_ptr(),
        .width = stub.size(1),
        .bf16 = y.scalar_type() == at::kBFloat16};
    const auto cost = [](int64_t rows) { return rows; };
    cpu::parallel_groups(
        offsets_of(offsets), /*units=*/1, cost, [&](int64_t group, cpu::Range) {
          const cpu::Range rows = cpu::rows_of_group(offsets_of(offsets), group);
          cpu::group_bias(args, group, rows.begin, rows.end);
        });
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor dy = grads[0].contiguous();
    const SavedWeight weight = saved_weight(ctx);
    if (ctx->needs_input_grad(kInputStub)) {
      const Tensor offsets = ctx->get_saved_variables().at(0);
      run_or_defer(*weight.context, [dy, offsets, handle = weight.handle] {
        add_bias_grad(dy, offsets, handle);
      });
    }
    return {dy, Tensor(), Tensor(), Tensor(), Tensor()};
  }

  static void add_bias_grad(
      const Tensor& dy, const Tensor& offsets, const WeightHandle& handle) {
    const int64_t groups = offsets.numel() - 1;
    const Tensor sums = at::empty({groups, dy.size(1)}, dy.options().dtype(at::kFloat));
    const cpu::RowSums args{
        .x = dy.const_data_ptr(),
        .sums = sums.mutable_data_ptr<float>(),
        .width = dy.size(1),
        .bf16 = dy.scalar_type() == at::kBFloat16};
    const auto cost = [](int64_t rows) { return rows + 1; };
    cpu::parallel_groups(
        offsets_of(offsets), /*units=*/1, cost, [&](int64_t group, cpu::Range) {
          const cpu::Range rows = cpu::rows_of_group(offsets_of(offsets), group);
          cpu::sum_rows(args, group, rows.begin, rows.end);
        });
    handle.source->add_grad(handle.index, sums);
  }
};

// The rows of each group, for the plain forms.
template <class Each>
Tensor for_each_group(const Tensor& x, const Tensor& offsets, const Each& each) {
  std::vector<Tensor> parts;
  const Tensor host = offsets.cpu();
  const cpu::GroupOffsets bounds = offsets_of(host);
  for (int64_t g = 0; g < cpu::group_count(bounds); ++g) {
    const cpu::Range rows = cpu::rows_of_group(bounds, g);
    parts.push_back(each(x.narrow(0, rows.begin, rows.end - rows.begin), g));
  }
  return at::cat(parts);
}

}  // namespace

Tensor grouped_linear(
    const Tensor& x,
    const Tensor& offsets,
    const Weight& weight,
    OpContext& context,
    std::string_view name) {
  TORCH_CHECK(
      x.dim() == 2 && weight.stub.dim() == 3 && x.size(1) == weight.stub.size(2),
      "[grouped_linear] expected rows [R, K] and a weight [E, N, K], got ",
      x.sizes(),
      " and ",
      weight.sizes());
  TORCH_CHECK(x.is_contiguous(), "[grouped_linear] expected contiguous rows");
  check_offsets("grouped_linear", offsets, weight.stub.size(0), x.size(0));
  if (!x.is_cpu()) {
    const auto plain = [](const auto& inputs, const auto& weights) {
      return std::vector{grouped_linear_plain(inputs[0], inputs[1], weights[0])};
    };
    return library_op(plain, {x, offsets}, {weight}, context, name).at(0);
  }
  const GroupedLinearFunction::Region region{&context, name};
  return GroupedLinearFunction::apply(x, weight.stub, offsets, weight.handle, region);
}

Tensor grouped_bias(
    const Tensor& y, const Tensor& offsets, const Weight& bias, OpContext& context) {
  TORCH_CHECK(
      y.dim() == 2 && bias.stub.dim() == 2 && y.size(1) == bias.stub.size(1),
      "[grouped_bias] expected rows [R, N] and a bias [E, N], got ",
      y.sizes(),
      " and ",
      bias.sizes());
  TORCH_CHECK(
      y.is_contiguous() && y.scalar_type() == bias.stub.scalar_type(),
      "[grouped_bias] expected contiguous rows of the bias's dtype ",
      bias.stub.scalar_type(),
      ", got ",
      y.scalar_type());
  check_offsets("grouped_bias", offsets, bias.stub.size(0), y.size(0));
  if (!y.is_cpu()) {
    const auto plain = [](const auto& inputs, const auto& weights) {
      return std::vector{grouped_bias_plain(inputs[0], inputs[1], weights[0])};
    };
    return library_op(plain, {y, offsets}, {bias}, context, "grouped_bias").at(0);
  }
  return GroupedBiasFunction::apply(y, bias.stub, offsets, bias.handle, &context);
}

Tensor grouped_linear_plain(
    const Tensor& x, const Tensor& offsets, const Tensor& weight) {
  return for_each_group(x, offsets, [&](const Tensor& rows, int64_t group) {
    return at::linear(rows, weight[group]);
  });
}

Tensor grouped_bias_plain(const Tensor& y, const Tensor& offsets, const Tensor& bias) {
  return for_each_group(
      y, offsets, [&](const Tensor& rows, int64_t group) { return rows + bias[group]; });
}

}  // namespace titan::ops
