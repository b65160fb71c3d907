#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/attention.h"

namespace titan::ops {
namespace {

// Rows of the key and value tensors at the positions [begin, end).
Tensor rows_at(const SequenceContext& sequence, const SequenceSpan& span) {
  const KeyRows rows = sequence.key_rows(span);
  std::vector<int64_t> at;
  const int64_t end = span.key_end();
  for (int64_t p = span.key_position; p < end;) {
    const KeyRun run = rows.run({p, end});
    for (int64_t i = 0; i < run.length; ++i) {
      at.push_back(run.row + i);
    }
    p += run.length;
  }
  return at::tensor(at, at::kLong);
}

// The type of the softmax.
at::ScalarType score_type(const Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type();
}

// True where a query of the span does not see a key: [queries, keys].
Tensor hidden(const SequenceSpan& span, const AttentionRule& rule) {
  const Tensor i =
      at::arange(span.position, span.position + span.query_length).unsqueeze(1);
  const Tensor j = at::arange(span.key_position, span.key_end()).unsqueeze(0);
  Tensor mask = at::zeros({i.size(0), j.size(1)}, at::kBool);
  if (rule.causal) {
    mask = mask.logical_or(j > i);
  }
  if (rule.window > 0) {
    mask = mask.logical_or(j <= i - rule.window);
  }
  return mask;
}

AttentionOutput attend(
    const AttentionInputs& in,
    const SequenceContext& sequence,
    const SequenceSpan& span,
    const AttentionRule& rule,
    const Tensor& sinks) {
  const int64_t group = in.query.size(1) / in.key.size(1);
  const Tensor rows = rows_at(sequence, span).to(in.query.device());
  const auto keys = [&](const Tensor& x) {
    return x.index_select(0, rows).transpose(0, 1).repeat_interleave(group, 0);
  };
  const Tensor q =
      in.query.narrow(0, span.query_begin, span.query_length).transpose(0, 1);
  Tensor scores = at::matmul(q, keys(in.key).transpose(1, 2)).to(score_type(q));
  scores = scores.mul(rule.scale);
  if (rule.soft_cap > 0) {
    scores = at::tanh(scores / rule.soft_cap) * rule.soft_cap;
  }
  scores = scores.masked_fill(hidden(span, rule).to(q.device()), -INFINITY);
  if (sinks.defined()) {
    const Tensor sink = sinks.to(scores.scalar_type()).view({-1, 1, 1});
    scores = at::cat({scores, sink.expand({-1, scores.size(1), 1})}, -1);
  }
  const Tensor log_sum_exp = at::logsumexp(scores, {-1}, /*keepdim=*/true);
  const Tensor nothing = log_sum_exp.eq(-INFINITY);
  const Tensor weights = at::exp(scores - log_sum_exp.masked_fill(nothing, 0));
  const Tensor out =
      at::matmul(weights.narrow(-1, 0, rows.size(0)).to(q.scalar_type()), keys(in.value));
  return {out.transpose(0, 1), log_sum_exp.squeeze(-1).transpose(0, 1)};
}

}  // namespace

AttentionOutput attention_plain(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    const Tensor& sinks) {
  const Tensor& q = inputs.query;
  std::vector<Tensor> outs = {q.new_empty({0, q.size(1), inputs.value.size(2)})};
  std::vector<Tensor> log_sum_exps = {
      q.new_empty({0, q.size(1)}, q.options().dtype(score_type(q)))};
  for (const SequenceSpan& span : sequence.spans) {
    const AttentionOutput output = attend(inputs, sequence, span, rule, sinks);
    outs.push_back(output.out);
    log_sum_exps.push_back(output.log_sum_exp);
  }
  return {at::cat(outs, 0), at::cat(log_sum_exps, 0)};
}

}  // namespace titan::ops
