#include <cmath>

#include <ATen/ATen.h>

#include "titan/ops/attention_run.h"

namespace titan::ops {
namespace {

void check_tensors(const AttentionInputs& in) {
  const Tensor& q = in.query;
  const Tensor& k = in.key;
  const Tensor& v = in.value;
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
      k.size(2) == q.size(2) && k.size(0) == v.size(0) && k.size(1) == v.size(1) &&
          k.size(1) > 0 && q.size(1) % k.size(1) == 0,
      "[attention] shapes do not fit: query ",
      q.sizes(),
      ", key ",
      k.sizes(),
      ", value ",
      v.sizes());
  TORCH_CHECK(
      q.stride(2) == 1 && k.stride(2) == 1 && v.stride(2) == 1,
      "[attention] expected contiguous rows of query, key and value, got strides ",
      q.strides(),
      ", ",
      k.strides(),
      " and ",
      v.strides());
  TORCH_CHECK(
      in.sinks == nullptr || in.sinks->sizes() == at::IntArrayRef({q.size(1)}),
      "[attention] expected one sink a query head, [",
      q.size(1),
      "], got ",
      in.sinks->sizes());
}

void check_rule(const AttentionRule& rule) {
  TORCH_CHECK(
      rule.scale > 0 && std::isfinite(rule.scale),
      "[attention] expected scale > 0, got ",
      rule.scale);
  TORCH_CHECK(
      rule.soft_cap >= 0 && std::isfinite(rule.soft_cap),
      "[attention] expected soft_cap >= 0, got ",
      rule.soft_cap);
  TORCH_CHECK(rule.window >= 0, "[attention] expected window >= 0, got ", rule.window);
  TORCH_CHECK(
      rule.causal || rule.window == 0, "[attention] a window needs causal attention");
}

// The positions that the queries of a span see must stand in different rows of the
// tensor.
void check_blocks(
    const SequenceSpan& span, int64_t block_size, int64_t rows, PositionRange seen) {
  TORCH_CHECK(block_size > 0, "[attention] expected block_size > 0, got ", block_size);
  const int64_t needed = (seen.end - 1) / block_size - seen.begin / block_size + 1;
  TORCH_CHECK(
      needed <= static_cast<int64_t>(span.blocks.size()),
      "[attention] the sequence at row ",
      span.query_begin,
      " needs ",
      needed,
      " blocks of ",
      block_size,
      " keys, but has ",
      span.blocks.size());
  for (const int32_t block : span.blocks) {
    TORCH_CHECK(
        block >= 0 && (block + int64_t{1}) * block_size <= rows,
        "[attention] the sequence at row ",
        span.query_begin,
        " names block ",
        block,
        ", but there are ",
        rows / block_size);
  }
}

void check_keys(
    const SequenceSpan& span,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    int64_t rows) {
  const PositionRange all{span.key_position, span.key_end()};
  TORCH_CHECK(
      all.begin >= 0 && all.begin <= all.end,
      "[attention] the sequence at row ",
      span.query_begin,
      " has keys for the positions [",
      all.begin,
      ", ",
      all.end,
      ")");
  if (!span.blocks.empty()) {
    const PositionRange seen{
        rule.visible(span.position, all).begin,
        rule.visible(span.position + span.query_length - 1, all).end};
    if (seen.begin < seen.end) {
      check_blocks(span, sequence.block_size, rows, seen);
    }
    return;
  }
  const int64_t end = span.key_begin + all.end - all.begin;
  TORCH_CHECK(
      span.key_begin >= 0 && end <= rows,
      "[attention] the sequence at row ",
      span.query_begin,
      " needs keys [",
      span.key_begin,
      ", ",
      end,
      "), but there are ",
      rows);
}

}  // namespace

void check_attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule) {
  check_tensors(inputs);
  check_rule(rule);
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
    check_keys(span, sequence, rule, inputs.key.size(0));
    row += span.query_length;
  }
  TORCH_CHECK(
      row == inputs.query.size(0),
      "[attention] the spans cover ",
      row,
      " rows of ",
      inputs.query.size(0));
}

void check_attention_gradients(const SequenceContext& sequence) {
  std::vector<const SequenceSpan*> spans;
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.blocks.empty(),
        "[attention] gradients need keys without blocks, but the sequence at row ",
        span.query_begin,
        " has some");
    if (span.query_length > 0 && span.key_position < span.key_end()) {
      spans.push_back(&span);
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [](const auto* a, const auto* b) {
    return a->key_begin < b->key_begin;
  });
  int64_t end = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    const SequenceSpan& span = *spans[i];
    const bool same = i > 0 && span.key_begin == spans[i - 1]->key_begin &&
                      span.key_position == spans[i - 1]->key_position;
    TORCH_CHECK(
        same || span.key_begin >= end,
        "[attention] gradients need sequences that share all keys from the first on or "
        "none, but that at row ",
        span.query_begin,
        " starts at key ",
        span.key_begin,
        " of another one");
    end = std::max(end, span.key_begin + span.key_end() - span.key_position);
  }
}

}  // namespace titan::ops
