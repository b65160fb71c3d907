#include "titan/ops/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/attention_backward.h"
#include "titan/ops/cpu/attention_forward.h"
#include "titan/ops/cpu/brgemm.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr int kPackSlot = 10;  // scratch of the calling thread

struct AttentionResult {
  Tensor out;
  Tensor log_sum_exp;  // fp32 [H, T], to base 2
};

void check(const AttentionInputs& in, const SequenceContext& sequence, double scale) {
  const auto& [q, k, v] = in;
  TORCH_CHECK(
      q.dim() == 3 && k.dim() == 3 && v.dim() == 3,
      "[attention] expected query, key and value of 3 dimensions, got ",
      q.dim(),
      ", ",
      k.dim(),
      " and ",
      v.dim());
  TORCH_CHECK(
      q.scalar_type() == at::kFloat || q.scalar_type() == at::kBFloat16,
      "[attention] expected fp32 or bf16, got ",
      q.scalar_type());
  TORCH_CHECK(
      k.scalar_type() == q.scalar_type() && v.scalar_type() == q.scalar_type(),
      "[attention] expected key and value of the query's type ",
      q.scalar_type(),
      ", got ",
      k.scalar_type(),
      " and ",
      v.scalar_type());
  TORCH_CHECK(
      q.is_contiguous() && k.is_contiguous() && v.is_contiguous(),
      "[attention] expected contiguous query, key and value");
  TORCH_CHECK(
      k.size(2) == q.size(2) && k.size(0) == v.size(0) && k.size(1) == v.size(1) &&
          k.size(1) > 0 && q.size(1) % k.size(1) == 0,
      "[attention] shapes do not fit: query ",
      q.sizes(),
      ", key ",
      k.sizes(),
      ", value ",
      v.sizes());
  TORCH_CHECK(
      scale > 0 && std::isfinite(scale), "[attention] expected scale > 0, got ", scale);
  int64_t row = 0;
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.query_begin == row && span.query_length >= 0 && span.position >= 0,
        "[attention] expected spans without gaps: one at row ",
        row,
        ", got row ",
        span.query_begin,
        ", length ",
        span.query_length,
        ", position ",
        span.position);
    const int64_t keys_end = span.key_begin + span.position + span.query_length;
    TORCH_CHECK(
        span.key_begin >= 0 && keys_end <= k.size(0),
        "[attention] the sequence at row ",
        row,
        " needs keys [",
        span.key_begin,
        ", ",
        keys_end,
        "), but there are ",
        k.size(0));
    row += span.query_length;
  }
  TORCH_CHECK(
      row == q.size(0), "[attention] the spans cover ", row, " rows of ", q.size(0));
}

bool is_packed(const SequenceContext& sequence) {
  return std::all_of(
      sequence.spans.begin(), sequence.spans.end(), [](const SequenceSpan& span) {
        return span.position == 0 && span.key_begin == span.query_begin;
      });
}

// Runs task(i) for every i in [0, count), in ascending order of start, on all threads.
template <class Task>
void run_tasks(int64_t count, const Task& task) {
  std::atomic<int64_t> next = 0;
  const int64_t threads = std::min<int64_t>(count, at::get_num_threads());
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    const cpu::BrgemmScope scope;
    for (int64_t i = next++; i < count; i = next++) {
      task(i);
    }
  });
}

// A forward pass cut into tasks.
struct ForwardPlan {
  struct Task {
    size_t keys;  // index
    cpu::AttentionTask task;
  };

  struct KeyTile {
    size_t keys;
    int64_t index;
    size_t offset;  // in the packed buffer
  };

  std::vector<cpu::AttentionKeys> keys;
  std::vector<Task> tasks;
  std::vector<KeyTile> packed;  // tiles that several tasks read
  size_t packed_bytes = 0;
};

// The query tiles of one sequence and key-value head. Where a tile has few rows
// (decoding), one task takes several query heads, whose rows stand on the same keys.
void cut_queries(
    const SequenceSpan& span,
    int64_t first_head,
    int64_t group,
    int64_t tile_rows,
    ForwardPlan& plan) {
  const int64_t end = span.position + span.query_length;
  for (int64_t begin = span.position; begin < end;) {
    const int64_t stop = std::min((begin / tile_rows + 1) * tile_rows, end);
    const int64_t rows = stop - begin;
    const int64_t most = std::clamp<int64_t>(tile_rows / rows, 1, group);
    for (int64_t h = 0; h < group; h += most) {
      plan.tasks.push_back(
          {plan.keys.size() - 1,
           {.query_row = span.query_begin + begin - span.position,
            .rows = rows,
            .position = begin,
            .head = first_head + h,
            .heads = std::min(most, group - h)}});
    }
    begin = stop;
  }
}

ForwardPlan plan_forward(
    const cpu::AttentionForward& args, const SequenceContext& sequence) {
  const cpu::AttentionTiling tiling = cpu::attention_tiling(args.bf16);
  const size_t tile_bytes = cpu::attention_tile_bytes(args);
  const int64_t group = args.heads / args.kv_heads;
  ForwardPlan plan;
  for (const SequenceSpan& span : sequence.spans) {
    for (int64_t g = 0; g < args.kv_heads && span.query_length > 0; ++g) {
      const int64_t num_keys = span.position + span.query_length;
      const size_t tasks_before = plan.tasks.size();
      plan.keys.push_back(
          {.key_row = span.key_begin,
           .num_keys = num_keys,
           .kv_head = g,
           .packed = nullptr});
      cut_queries(span, g * group, group, tiling.queries, plan);
      if (plan.tasks.size() - tasks_before > 1) {
        for (int64_t t = 0; t * tiling.keys < num_keys; ++t) {
          plan.packed.push_back({plan.keys.size() - 1, t, plan.packed_bytes});
          plan.packed_bytes += tile_bytes;
        }
      }
    }
  }
  // Long tasks first, so that the threads end together.
  std::stable_sort(
      plan.tasks.begin(), plan.tasks.end(), [](const auto& a, const auto& b) {
        return a.task.position + a.task.rows > b.task.position + b.task.rows;
      });
  return plan;
}

AttentionResult run_forward(
    const AttentionInputs& in, const SequenceContext& sequence, double scale) {
  const auto& [q, k, v] = in;
  AttentionResult result{
      at::empty({q.size(0), q.size(1), v.size(2)}, q.options()),
      at::empty({q.size(1), q.size(0)}, q.options().dtype(at::kFloat))};
  const cpu::AttentionForward args{
      .query = q.const_data_ptr(),
      .key = k.const_data_ptr(),
      .value = v.const_data_ptr(),
      .out = result.out.mutable_data_ptr(),
      .log_sum_exp = result.log_sum_exp.mutable_data_ptr<float>(),
      .num_tokens = q.size(0),
      .heads = q.size(1),
      .kv_heads = k.size(1),
      .key_dim = q.size(2),
      .value_dim = v.size(2),
      .scale = static_cast<float>(scale),
      .bf16 = q.scalar_type() == at::kBFloat16};
  ForwardPlan plan = plan_forward(args, sequence);
  char* packed = cpu::scratch_of<char>(kPackSlot, plan.packed_bytes);
  run_tasks(static_cast<int64_t>(plan.packed.size()), [&](int64_t i) {
    const ForwardPlan::KeyTile& tile = plan.packed[i];
    cpu::attention_pack_tile(
        args, plan.keys[tile.keys], tile.index, packed + tile.offset);
  });
  for (const ForwardPlan::KeyTile& tile : plan.packed) {
    if (tile.index == 0) {
      plan.keys[tile.keys].packed = packed + tile.offset;
    }
  }
  run_tasks(static_cast<int64_t>(plan.tasks.size()), [&](int64_t i) {
    const ForwardPlan::Task& task = plan.tasks[i];
    cpu::attention_forward(args, plan.keys[task.keys], task.task);
  });
  return result;
}

// The forward, or what a recorded forward has left for its replay.
AttentionResult attention_core(
    const AttentionInputs& in,
    const SequenceContext& sequence,
    double scale,
    OpContext& context,
    std::string_view name) {
  if (context.remat != nullptr && context.remat->replays(name)) {
    std::vector<Tensor> kept = context.remat->take(name);
    return {std::move(kept.at(0)), std::move(kept.at(1))};
  }
  AttentionResult result = run_forward(in, sequence, scale);
  if (context.remat != nullptr && context.remat->records(name)) {
    context.remat->put(name, {result.out, result.log_sum_exp});
  }
  return result;
}

struct BackwardResult {
  Tensor query, key, value;
};

std::vector<cpu::AttentionBackwardTask> plan_backward(
    const std::vector<int64_t>& lengths, int64_t heads, int64_t heads_per_task) {
  std::vector<cpu::AttentionBackwardTask> tasks;
  int64_t row = 0;
  for (const int64_t length : lengths) {
    for (int64_t head = 0; head < heads && length > 0; head += heads_per_task) {
      tasks.push_back(
          {.row = row, .length = length, .head = head, .heads = heads_per_task});
    }
    row += length;
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
    return a.length > b.length;
  });
  return tasks;
}

BackwardResult run_backward(
    const AttentionInputs& in,
    const AttentionResult& forward,
    const Tensor& grad_out,
    const std::vector<int64_t>& lengths,
    double scale) {
  const auto& [q, k, v] = in;
  BackwardResult grads{at::empty_like(q), at::empty_like(k), at::empty_like(v)};
  cpu::AttentionBackward args{
      .query = q.const_data_ptr(),
      .key = k.const_data_ptr(),
      .value = v.const_data_ptr(),
      .out = forward.out.const_data_ptr(),
      .grad_out = grad_out.const_data_ptr(),
      .log_sum_exp = forward.log_sum_exp.const_data_ptr<float>(),
      .grad_query = grads.query.mutable_data_ptr(),
      .grad_key = grads.key.mutable_data_ptr(),
      .grad_value = grads.value.mutable_data_ptr(),
      .head_grad_key = nullptr,
      .head_grad_value = nullptr,
      .num_tokens = q.size(0),
      .heads = q.size(1),
      .kv_heads = k.size(1),
      .key_dim = q.size(2),
      .value_dim = v.size(2),
      .scale = static_cast<float>(scale),
      .bf16 = q.scalar_type() == at::kBFloat16};
  // With few long documents one task a query head keeps all threads busy; bits are the
  // same.
  constexpr int64_t kTasksPerThread = 4;
  const int64_t group = args.heads / args.kv_heads;
  const int64_t joint = static_cast<int64_t>(lengths.size()) * args.kv_heads;
  const bool split = group > 1 && at::get_num_threads() > 1 &&
                     joint < kTasksPerThread * at::get_num_threads();
  Tensor head_grad_key;
  Tensor head_grad_value;
  if (split) {
    const auto fp32 = q.options().dtype(at::kFloat);
    head_grad_key = at::empty({args.heads, args.num_tokens, args.key_dim}, fp32);
    head_grad_value = at::empty({args.heads, args.num_tokens, args.value_dim}, fp32);
    args.head_grad_key = head_grad_key.mutable_data_ptr<float>();
    args.head_grad_value = head_grad_value.mutable_data_ptr<float>();
  }
  const auto tasks = plan_backward(lengths, args.heads, split ? 1 : group);
  run_tasks(static_cast<int64_t>(tasks.size()), [&](int64_t i) {
    cpu::attention_backward(args, tasks[i]);
  });
  if (split) {
    constexpr int64_t kGrain = 64;
    at::parallel_for(0, args.num_tokens, kGrain, [&](int64_t begin, int64_t end) {
      cpu::attention_add_heads(args, begin, end);
    });
  }
  return grads;
}

// What forward needs beside tensors.
struct Call {
  const SequenceContext& sequence;
  double scale;
  OpContext& context;
  std::string_view name;
};

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& query,
      const Tensor& key,
      const Tensor& value,
      const Call& call) {
    const AttentionResult result = attention_core(
        {query, key, value}, call.sequence, call.scale, call.context, call.name);
    std::vector<int64_t> lengths;
    lengths.reserve(call.sequence.spans.size());
    for (const SequenceSpan& span : call.sequence.spans) {
      lengths.push_back(span.query_length);
    }
    ctx->save_for_backward({query, key, value, result.out, result.log_sum_exp});
    ctx->saved_data["lengths"] = lengths;
    ctx->saved_data["scale"] = call.scale;
    return result.out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const BackwardResult result = run_backward(
        {saved[0], saved[1], saved[2]},
        {saved[3], saved[4]},
        grads[0].contiguous(),
        ctx->saved_data["lengths"].toIntVector(),
        ctx->saved_data["scale"].toDouble());
    return {result.query, result.key, result.value, Variable()};
  }
};

}  // namespace

Tensor attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    double scale,
    OpContext& context,
    std::string_view name) {
  check(inputs, sequence, scale);
  const bool differentiate = at::GradMode::is_enabled() &&
                             (inputs.query.requires_grad() ||
                              inputs.key.requires_grad() || inputs.value.requires_grad());
  if (!differentiate) {
    return attention_core(inputs, sequence, scale, context, name).out;
  }
  TORCH_CHECK(
      is_packed(sequence),
      "[attention] gradients need packed documents, but a sequence continues a cache");
  return AttentionFunction::apply(
      inputs.query, inputs.key, inputs.value, Call{sequence, scale, context, name});
}

Tensor attention_plain(
    const AttentionInputs& inputs, const SequenceContext& sequence, double scale) {
  const auto& [q, k, v] = inputs;
  const int64_t group = q.size(1) / k.size(1);
  std::vector<Tensor> outs;
  for (const SequenceSpan& span : sequence.spans) {
    const int64_t num_keys = span.position + span.query_length;
    const auto heads_first = [](const Tensor& x) { return x.transpose(0, 1); };
    const Tensor qs =
        heads_first(q.slice(0, span.query_begin, span.query_begin + span.query_length));
    const Tensor ks = heads_first(k.slice(0, span.key_begin, span.key_begin + num_keys))
                          .repeat_interleave(group, 0);
    const Tensor vs = heads_first(v.slice(0, span.key_begin, span.key_begin + num_keys))
                          .repeat_interleave(group, 0);
    const Tensor later =
        at::ones({span.query_length, num_keys}, q.options().dtype(at::kBool))
            .triu(span.position + 1);
    const Tensor scores = at::matmul(qs, ks.transpose(1, 2)).mul(scale);
    const Tensor weights = at::softmax(scores.masked_fill(later, -INFINITY), -1);
    outs.push_back(at::matmul(weights, vs).transpose(0, 1));
  }
  return outs.empty() ? q.new_empty({0, q.size(1), v.size(2)}) : at::cat(outs, 0);
}

}  // namespace titan::ops
