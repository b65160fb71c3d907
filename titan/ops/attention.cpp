#include "titan/ops/attention.h"

#include <cmath>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/attention_run.h"
#include "titan/ops/library_op.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// What forward needs beside tensors.
struct Call {
  const SequenceContext& sequence;
  const AttentionRule& rule;
  std::optional<WeightHandle> sinks;
  OpContext& context;
  std::string_view name;
};

// What backward needs beside tensors.
struct SavedCall : torch::CustomClassHolder {
  explicit SavedCall(const Call& call)
      : sequence(call.sequence), rule(call.rule), sinks(call.sinks) {}

  SequenceContext sequence;
  AttentionRule rule;
  std::optional<WeightHandle> sinks;
};

Tensor sink_values(const std::optional<WeightHandle>& sinks) {
  return sinks ? sinks->value().to(at::kFloat).contiguous() : Tensor();
}

// The forward, or what a recorded forward has left for its replay.
AttentionOutput attention_core(const AttentionInputs& in, const Call& call) {
  RematFrame* remat = call.context.remat;
  if (remat != nullptr && remat->replays(call.name)) {
    std::vector<Tensor> kept = remat->take(call.name);
    return {std::move(kept.at(0)), std::move(kept.at(1))};
  }
  AttentionOutput output =
      run_attention(in, call.sequence, call.rule, sink_values(call.sinks));
  if (remat != nullptr && remat->records(call.name)) {
    remat->put(call.name, {output.out, output.log_sum_exp});
  }
  return output;
}

// A sink is a score without a value: minus the sum over rows of its weight times delta,
// in row order in double.
Tensor sink_gradient(
    const Tensor& sinks, const Tensor& log_sum_exp, const Tensor& delta) {
  const int64_t tokens = delta.size(0);
  const int64_t heads = delta.size(1);
  Tensor grad = at::empty({heads}, delta.options());
  const auto* sink = sinks.const_data_ptr<float>();
  const auto* lse = log_sum_exp.const_data_ptr<float>();
  const auto* row_delta = delta.const_data_ptr<float>();
  auto* out = grad.mutable_data_ptr<float>();
  at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h) {
      double sum = 0;
      for (int64_t i = h; i < tokens * heads; i += heads) {
        sum -= static_cast<double>(std::exp(sink[h] - lse[i])) * row_delta[i];
      }
      out[h] = static_cast<float>(sum);
    }
  });
  return grad;
}

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static constexpr size_t kInputStub = 3;

  // `stub` only ties the sinks to the graph.
  static variable_list forward(
      AutogradContext* ctx,
      const Tensor& query,
      const Tensor& key,
      const Tensor& value,
      const std::optional<Tensor>& /*stub*/,
      const Call& call) {
    const AttentionOutput output = attention_core({query, key, value}, call);
    ctx->save_for_backward({query, key, value, output.out, output.log_sum_exp});
    ctx->saved_data["call"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(call));
    ctx->set_materialize_grads(false);
    return {output.out, output.log_sum_exp};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& call =
        static_cast<const SavedCall&>(*ctx->saved_data.at("call").toCapsule());
    const AttentionOutput output{saved[3], saved[4]};
    const AttentionGradients result = run_attention_backward(
        {saved[0], saved[1], saved[2]},
        output,
        {grads[0], grads[1]},
        call.sequence,
        call.rule);
    if (call.sinks && ctx->needs_input_grad(kInputStub)) {
      call.sinks->source->add_grad(
          call.sinks->index,
          sink_gradient(sink_values(call.sinks), output.log_sum_exp, result.delta));
    }
    return {result.query, result.key, result.value, Variable(), Variable()};
  }
};

AttentionOutput attention_by_library(
    const AttentionInputs& in,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    OpContext& context,
    std::string_view name) {
  const auto plain = [sequence, rule](const auto& inputs, const auto& weights) {
    const AttentionOutput output = attention_plain(
        {inputs[0], inputs[1], inputs[2]},
        sequence,
        rule,
        weights.empty() ? Tensor() : weights[0]);
    return std::vector{output.out, output.log_sum_exp};
  };
  std::vector<Weight> weights;
  if (in.sinks != nullptr) {
    weights.push_back(*in.sinks);
  }
  const auto results =
      library_op(plain, {in.query, in.key, in.value}, weights, context, name);
  return {results[0], results[1]};
}

}  // namespace

AttentionOutput attention_with_log_sum_exp(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    OpContext& context,
    std::string_view name) {
  check_attention(inputs, sequence, rule);
  if (!inputs.query.is_cpu()) {
    return attention_by_library(inputs, sequence, rule, context, name);
  }
  std::optional<WeightHandle> sinks;
  std::optional<Tensor> stub;
  if (inputs.sinks != nullptr) {
    sinks = inputs.sinks->handle;
    stub = inputs.sinks->stub;
  }
  const Call call{sequence, rule, sinks, context, name};
  const bool differentiate =
      at::GradMode::is_enabled() &&
      (inputs.query.requires_grad() || inputs.key.requires_grad() ||
       inputs.value.requires_grad() || (stub && stub->requires_grad()));
  if (!differentiate) {
    return attention_core(inputs, call);
  }
  check_attention_gradients(sequence);
  const variable_list outputs =
      AttentionFunction::apply(inputs.query, inputs.key, inputs.value, stub, call);
  return {outputs[0], outputs[1]};
}

Tensor attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    OpContext& context,
    std::string_view name) {
  return attention_with_log_sum_exp(inputs, sequence, rule, context, name).out;
}

}  // namespace titan::ops
