#pragma once
// Attention's two passes, cut into tasks that run on all threads. Private to the op.

#include <algorithm>
#include <atomic>

#include <ATen/Parallel.h>

#include "titan/ops/attention.h"
#include "titan/ops/cpu/attention_args.h"
#include "titan/ops/cpu/brgemm.h"

namespace titan::ops {

// Throws c10::Error where inputs, spans and rule do not fit together.
void check_attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule);

// Throws c10::Error where run_attention_backward cannot serve the spans.
void check_attention_gradients(const SequenceContext& sequence);

// `sinks` is fp32 [H], or undefined.
AttentionOutput run_attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    const Tensor& sinks);

struct AttentionGradients {
  Tensor query, key, value;
  Tensor delta;  // fp32 [T, H]: what a row's scores lose before they meet its weights
};

// `grad` is that of `output`; either part may be undefined.
AttentionGradients run_attention_backward(
    const AttentionInputs& inputs,
    const AttentionOutput& output,
    const AttentionOutput& grad,
    const SequenceContext& sequence,
    const AttentionRule& rule);

inline cpu::AttentionTensors attention_tensors(const AttentionInputs& inputs) {
  const auto heads = [](const Tensor& x) {
    return cpu::HeadTensor{x.const_data_ptr(), x.stride(0), x.stride(1), x.size(2)};
  };
  return {
      .query = heads(inputs.query),
      .key = heads(inputs.key),
      .value = heads(inputs.value),
      .heads = inputs.query.size(1),
      .kv_heads = inputs.key.size(1),
      .bf16 = inputs.query.scalar_type() == at::kBFloat16};
}

// Runs task(i, thread) for every i in [0, count), started in ascending order, on all
// threads; thread < at::get_num_threads().
template <class Task>
void run_tasks(int64_t count, const Task& task) {
  std::atomic<int64_t> next = 0;
  const int64_t threads = std::min<int64_t>(count, at::get_num_threads());
  at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t) {
    const cpu::BrgemmScope scope;
    for (int64_t i = next++; i < count; i = next++) {
      task(i, begin);
    }
  });
}

}  // namespace titan::ops
