#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/delta_rule.h"

namespace titan::ops {

DeltaRuleOutput delta_rule_plain(
    const DeltaRuleInputs& inputs,
    const Tensor& states,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options) {
  const int64_t heads = inputs.value.size(1);
  const int64_t group = heads / inputs.key.size(1);
  const auto type = inputs.value.scalar_type();
  const auto wide = [](const Tensor& x) {
    return x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
  };
  const auto normed = [&](const Tensor& x) {
    const Tensor y = wide(x);
    const Tensor squares = y.square().sum(-1, /*keepdim=*/true);
    return (y * at::rsqrt(squares + options.norm_eps)).repeat_interleave(group, 1);
  };
  const Tensor query = normed(inputs.query) * options.scale;
  const Tensor key = normed(inputs.key);
  const Tensor value = wide(inputs.value);
  const Tensor decay = at::exp(inputs.log_decay).view({value.size(0), heads, -1, 1});
  std::vector<Tensor> outs = {value.new_empty({0, heads, value.size(2)})};
  std::vector<Tensor> ends = {value.new_empty({0, heads, key.size(2), value.size(2)})};
  for (size_t i = 0; i < sequence.spans.size(); ++i) {
    const SequenceSpan& span = sequence.spans[i];
    Tensor state = span.position > 0 && states.defined()
                       ? states[static_cast<int64_t>(i)]
                       : value.new_zeros({heads, key.size(2), value.size(2)});
    for (int64_t t = span.query_begin; t < span.query_begin + span.query_length; ++t) {
      const auto read = [&](const Tensor& x) {
        return at::matmul(x[t].unsqueeze(1), state).squeeze(1);
      };
      state = decay[t] * state;
      const Tensor delta = inputs.beta[t].unsqueeze(1) * (value[t] - read(key));
      state = state + key[t].unsqueeze(2) * delta.unsqueeze(1);
      outs.push_back(read(query).unsqueeze(0));
    }
    ends.push_back(state.unsqueeze(0));
  }
  return {at::cat(outs).to(type), at::cat(ends)};
}

}  // namespace titan::ops
