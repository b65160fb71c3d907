#include "titan/ops/delta_rule.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/brgemm.h"
#include "titan/ops/cpu/delta_rule.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_tensors(const DeltaRuleInputs& in) {
  const Tensor& q = in.query;
  const Tensor& k = in.key;
  const Tensor& v = in.value;
  const auto type = v.scalar_type();
  TORCH_CHECK(
      (type == at::kFloat || type == at::kBFloat16) && q.scalar_type() == type &&
          k.scalar_type() == type,
      "[delta_rule] expected query, key and value all fp32 or all bf16, got ",
      q.scalar_type(),
      ", ",
      k.scalar_type(),
      " and ",
      type);
  TORCH_CHECK(
      q.dim() == 3 && v.dim() == 3 && q.sizes() == k.sizes() && q.size(0) == v.size(0) &&
          q.size(1) > 0 && v.size(1) % q.size(1) == 0,
      "[delta_rule] expected query and key [T, G, Dk] and value [T, H, Dv] with H a "
      "multiple of G, got ",
      q.sizes(),
      ", ",
      k.sizes(),
      " and ",
      v.sizes());
  TORCH_CHECK(
      q.stride(2) == 1 && k.stride(2) == 1 && v.stride(2) == 1,
      "[delta_rule] expected contiguous rows of query, key and value, got strides ",
      q.strides(),
      ", ",
      k.strides(),
      " and ",
      v.strides());
  const auto& g = in.log_decay;
  const std::array<int64_t, 3> sizes{v.size(0), v.size(1), q.size(2)};
  const at::IntArrayRef a_channel(sizes);
  const at::IntArrayRef a_head = a_channel.slice(0, 2);
  TORCH_CHECK(
      g.scalar_type() == at::kFloat && g.is_contiguous() &&
          (g.sizes() == a_head || g.sizes() == a_channel),
      "[delta_rule] expected contiguous fp32 log decays ",
      a_head,
      " or ",
      a_channel,
      ", got ",
      g.scalar_type(),
      " ",
      g.sizes());
  TORCH_CHECK(
      in.beta.scalar_type() == at::kFloat && in.beta.is_contiguous() &&
          in.beta.sizes() == a_head,
      "[delta_rule] expected contiguous fp32 beta ",
      a_head,
      ", got ",
      in.beta.scalar_type(),
      " ",
      in.beta.sizes());
}

void check_spans(const DeltaRuleInputs& in, const SequenceContext& sequence) {
  int64_t row = 0;
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.query_begin == row && span.query_length >= 0 && span.position >= 0,
        "[delta_rule] expected spans without gaps: one at row ",
        row,
        ", got row ",
        span.query_begin,
        ", length ",
        span.query_length,
        ", position ",
        span.position);
    row += span.query_length;
  }
  TORCH_CHECK(
      row == in.value.size(0),
      "[delta_rule] the spans cover ",
      row,
      " rows of ",
      in.value.size(0));
}

void check_states(
    const DeltaRuleInputs& in, const Tensor& states, const SequenceContext& sequence) {
  const std::array<int64_t, 4> sizes{
      static_cast<int64_t>(sequence.spans.size()),
      in.value.size(1),
      in.key.size(2),
      in.value.size(2)};
  const at::IntArrayRef expected(sizes);
  TORCH_CHECK(
      !states.defined() || (states.scalar_type() == at::kFloat &&
                            states.is_contiguous() && states.sizes() == expected),
      "[delta_rule] expected contiguous fp32 states ",
      expected,
      ", got ",
      states.scalar_type(),
      " ",
      states.sizes());
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.position % cpu::kDeltaChunk == 0,
        "[delta_rule] expected positions that are multiples of ",
        cpu::kDeltaChunk,
        ", but the span at row ",
        span.query_begin,
        " starts at position ",
        span.position);
    TORCH_CHECK(
        span.position == 0 || states.defined(),
        "[delta_rule] the span at row ",
        span.query_begin,
        " starts at position ",
        span.position,
        " without a state");
  }
}

cpu::DeltaInput input(const Tensor& x) {
  return {x.const_data_ptr(), x.stride(0), x.stride(1)};
}

cpu::DeltaRule kernel_rule(const DeltaRuleInputs& in, const DeltaRuleOptions& options) {
  return {
      .query = input(in.query),
      .key = input(in.key),
      .value = input(in.value),
      .bf16 = in.value.scalar_type() == at::kBFloat16,
      .log_decay = in.log_decay.const_data_ptr<float>(),
      .beta = in.beta.const_data_ptr<float>(),
      .heads = in.value.size(1),
      .key_heads = in.key.size(1),
      .key_width = in.key.size(2),
      .value_width = in.value.size(2),
      .decays = in.log_decay.dim() == 2 ? 1 : in.key.size(2),
      .scale = static_cast<float>(options.scale),
      .norm_eps = static_cast<float>(options.norm_eps)};
}

// Runs task(span's index, span, head) for every span and head on all threads, long spans
// first.
template <class Task>
void for_heads(const SequenceContext& sequence, int64_t heads, const Task& task) {
  const auto& spans = sequence.spans;
  std::vector<int64_t> order(spans.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int64_t>(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return spans[a].query_length > spans[b].query_length;
  });
  const auto count = static_cast<int64_t>(order.size()) * heads;
  const int64_t threads = std::min<int64_t>(count, at::get_num_threads());
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    const cpu::BrgemmScope scope;
    for (int64_t i = next++; i < count; i = next++) {
      const int64_t index = order[i / heads];
      const SequenceSpan& span = spans[index];
      task(
          index,
          cpu::DeltaSpan{span.query_begin, span.query_length, span.position},
          i % heads);
    }
  });
}

// Of span `index` at `position`; null for a span that starts from zero.
float* state_of(const Tensor& states, int64_t index, int64_t position) {
  return states.defined() && position > 0
             ? const_cast<float*>(states.const_data_ptr<float>()) +
                   index * states.stride(0)
             : nullptr;
}

struct Call {
  const SequenceContext& sequence;
  const DeltaRuleOptions& options;
  bool with_states;
};

DeltaRuleOutput run_forward(
    const DeltaRuleInputs& in, const Tensor& states, const Call& call) {
  DeltaRuleOutput output{at::empty(in.value.sizes(), in.value.options()), {}};
  const cpu::DeltaForward args{
      kernel_rule(in, call.options), output.out.mutable_data_ptr()};
  const int64_t size = args.rule.key_width * args.rule.value_width;
  const int64_t heads = args.rule.heads;
  float* ends = nullptr;
  if (call.with_states) {
    const auto spans = static_cast<int64_t>(call.sequence.spans.size());
    output.states = at::empty(
        {spans, heads, args.rule.key_width, args.rule.value_width},
        in.value.options().dtype(at::kFloat));
    ends = output.states.mutable_data_ptr<float>();
  }
  for_heads(
      call.sequence, heads, [&](int64_t i, const cpu::DeltaSpan& span, int64_t head) {
        const float* begin = state_of(states, i, span.position);
        cpu::delta_rule_forward(
            args,
            span,
            head,
            {.begin = begin == nullptr ? nullptr : begin + head * size,
             .end = ends == nullptr ? nullptr : ends + (i * heads + head) * size});
      });
  return output;
}

struct Gradients {
  Tensor query, key, value, log_decay, beta, states;
};

Gradients run_backward(
    const DeltaRuleInputs& in,
    const Tensor& states,
    const DeltaRuleOutput& grad,
    const Call& call) {
  const auto like = [](const Tensor& x) { return at::empty(x.sizes(), x.options()); };
  Gradients d{
      like(in.query),
      like(in.key),
      like(in.value),
      like(in.log_decay),
      like(in.beta),
      {}};
  if (states.defined()) {
    d.states = at::zeros_like(states);
  }
  const Tensor d_out = grad.out.stride(2) == 1 ? grad.out : grad.out.contiguous();
  const Tensor d_ends = grad.states.defined() ? grad.states.contiguous() : Tensor();
  const cpu::DeltaBackward args{
      .rule = kernel_rule(in, call.options),
      .d_out = input(d_out),
      .d_query = d.query.mutable_data_ptr(),
      .d_key = d.key.mutable_data_ptr(),
      .d_value = d.value.mutable_data_ptr(),
      .d_log_decay = d.log_decay.mutable_data_ptr<float>(),
      .d_beta = d.beta.mutable_data_ptr<float>()};
  for_heads(
      call.sequence,
      args.rule.key_heads,
      [&](int64_t i, const cpu::DeltaSpan& span, int64_t key_head) {
        cpu::delta_rule_backward(
            args,
            span,
            key_head,
            {.begin = state_of(states, i, span.position),
             .d_end = d_ends.defined()
                          ? d_ends.const_data_ptr<float>() + i * d_ends.stride(0)
                          : nullptr,
             .d_begin = state_of(d.states, i, span.position)});
      });
  return d;
}

// What backward needs beside tensors.
struct SavedCall : torch::CustomClassHolder {
  explicit SavedCall(const Call& call)
      : sequence(call.sequence), options(call.options), with_states(call.with_states) {}

  [[nodiscard]] Call call() const { return {sequence, options, with_states}; }

  SequenceContext sequence;
  DeltaRuleOptions options;
  bool with_states;
};

// Where named rematerialisation keeps the output.
struct Region {
  RematFrame* remat;
  std::string_view name;
};

struct DeltaRuleFunction : torch::autograd::Function<DeltaRuleFunction> {
  static variable_list forward(
      AutogradContext* ctx,
      const Tensor& query,
      const Tensor& key,
      const Tensor& value,
      const Tensor& log_decay,
      const Tensor& beta,
      const std::optional<Tensor>& states,
      const Call& call,
      const Region& region) {
    const Tensor begin = states.value_or(Tensor());
    ctx->save_for_backward({query, key, value, log_decay, beta, begin});
    ctx->saved_data["call"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(call));
    if (region.remat != nullptr && region.remat->replays(region.name)) {
      return {region.remat->take(region.name).at(0)};
    }
    const DeltaRuleOutput output =
        run_forward({query, key, value, log_decay, beta}, begin, call);
    if (region.remat != nullptr && region.remat->records(region.name)) {
      // Detached: what is kept must not hold this graph.
      region.remat->put(region.name, {output.out.detach()});
    }
    return call.with_states ? variable_list{output.out, output.states}
                            : variable_list{output.out};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto& call =
        static_cast<const SavedCall&>(*ctx->saved_data.at("call").toCapsule());
    const Gradients d = run_backward(
        {saved[0], saved[1], saved[2], saved[3], saved[4]},
        saved[5],
        {grads[0], call.with_states ? grads[1] : Tensor()},
        call.call());
    return {d.query, d.key, d.value, d.log_decay, d.beta, d.states, Tensor(), Tensor()};
  }
};

variable_list apply(
    const DeltaRuleInputs& in,
    const std::optional<Tensor>& states,
    const Call& call,
    const Region& region) {
  return DeltaRuleFunction::apply(
      in.query, in.key, in.value, in.log_decay, in.beta, states, call, region);
}

void check_cache(
    const DeltaRuleInputs& in,
    const SequenceContext& sequence,
    const DeltaRuleCache& cache) {
  const Tensor& memory = cache.memory;
  const int64_t size = delta_rule_memory_size(in.key.size(2), in.value.size(2));
  TORCH_CHECK(
      memory.scalar_type() == at::kFloat && memory.is_contiguous() && memory.dim() == 3 &&
          memory.size(1) == in.value.size(1) && memory.size(2) == size,
      "[delta_rule] expected contiguous fp32 memory [slots, ",
      in.value.size(1),
      ", ",
      size,
      "], got ",
      memory.scalar_type(),
      " ",
      memory.sizes());
  TORCH_CHECK(
      cache.slots.size() == sequence.spans.size(),
      "[delta_rule] expected a slot for each of ",
      sequence.spans.size(),
      " spans, got ",
      cache.slots.size());
  std::vector<int64_t> slots = cache.slots;
  std::sort(slots.begin(), slots.end());
  for (size_t i = 0; i < slots.size(); ++i) {
    TORCH_CHECK(
        slots[i] >= 0 && slots[i] < memory.size(0) && (i == 0 || slots[i - 1] < slots[i]),
        "[delta_rule] expected different slots of ",
        memory.size(0),
        ", got ",
        cache.slots);
  }
}

}  // namespace

Tensor delta_rule(
    const DeltaRuleInputs& inputs,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options,
    OpContext& context,
    std::string_view name) {
  check_tensors(inputs);
  check_spans(inputs, sequence);
  check_states(inputs, Tensor(), sequence);
  const Call call{sequence, options, /*with_states=*/false};
  return apply(inputs, std::nullopt, call, {context.remat, name}).at(0);
}

DeltaRuleOutput delta_rule_with_states(
    const DeltaRuleInputs& inputs,
    const Tensor& states,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options) {
  check_tensors(inputs);
  check_spans(inputs, sequence);
  check_states(inputs, states, sequence);
  const Call call{sequence, options, /*with_states=*/true};
  const std::optional<Tensor> begin =
      states.defined() ? std::optional(states) : std::nullopt;
  const variable_list outputs = apply(inputs, begin, call, {nullptr, ""});
  return {outputs.at(0), outputs.at(1)};
}

int64_t delta_rule_memory_size(int64_t key_width, int64_t value_width) {
  return cpu::DeltaMemory::size({key_width, value_width});
}

Tensor delta_rule_cached(
    const DeltaRuleInputs& inputs,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options,
    const DeltaRuleCache& cache) {
  check_tensors(inputs);
  check_spans(inputs, sequence);
  check_cache(inputs, sequence, cache);
  const at::NoGradGuard no_grad;
  Tensor out = at::empty(inputs.value.sizes(), inputs.value.options());
  const cpu::DeltaForward args{kernel_rule(inputs, options), out.mutable_data_ptr()};
  auto* memory = cache.memory.mutable_data_ptr<float>();
  for_heads(
      sequence,
      args.rule.heads,
      [&](int64_t i, const cpu::DeltaSpan& span, int64_t head) {
        const int64_t slot = cache.slots[static_cast<size_t>(i)];
        cpu::delta_rule_continue(
            args,
            span,
            head,
            memory + slot * cache.memory.stride(0) + head * cache.memory.stride(1));
      });
  return out;
}

}  // namespace titan::ops
