#include "titan/ops/short_convolution.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/short_convolution.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kHistory = kConvolutionTaps - 1;

// Rows and channels that are worked off together: their cache lines and pages stay.
constexpr int64_t kRows = 64;
constexpr int64_t kChannels = 16;

void check(const Tensor& x, const Weight& weight, const SequenceContext& sequence) {
  TORCH_CHECK(
      (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
          x.dim() == 2 && x.stride(1) == 1,
      "[short_convolution] expected fp32 or bf16 [T, C] with contiguous rows, got ",
      x.scalar_type(),
      " ",
      x.sizes());
  const int64_t channels = x.size(1);
  TORCH_CHECK(
      weight.sizes() == at::IntArrayRef({channels, kConvolutionTaps}) ||
          weight.sizes() == at::IntArrayRef({channels, 1, kConvolutionTaps}),
      "[short_convolution] expected a weight [",
      channels,
      ", 4] or [",
      channels,
      ", 1, 4], got ",
      weight.sizes());
  int64_t row = 0;
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.query_begin == row && span.query_length >= 0 && span.position >= 0,
        "[short_convolution] expected spans without gaps: one at row ",
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
      row == x.size(0),
      "[short_convolution] the spans cover ",
      row,
      " rows of ",
      x.size(0));
}

// fp32 [4, C].
Tensor taps(const WeightHandle& weight) {
  return weight.value().to(at::kFloat).view({-1, kConvolutionTaps}).t().contiguous();
}

template <class Data>
auto* row_of(Data* data, const Tensor& x, int64_t row, int64_t stride) {
  using Byte = std::conditional_t<std::is_const_v<Data>, const char, char>;
  return static_cast<Byte*>(data) + row * stride * x.element_size();
}

cpu::ConvolutionRows rows_of(
    const Tensor& x, const SequenceSpan& span, const Tensor& taps) {
  return {
      .x = row_of(x.const_data_ptr(), x, span.query_begin, x.stride(0)),
      .stride = x.stride(0),
      .before = nullptr,
      .rows = span.query_length,
      .channels = x.size(1),
      .taps = taps.const_data_ptr<float>(),
      .bf16 = x.scalar_type() == at::kBFloat16};
}

// `before` gives the rows in front of span i, or null.
template <class Before>
Tensor forward(
    const Tensor& x,
    const Tensor& taps,
    const SequenceContext& sequence,
    const Before& before) {
  Tensor y = at::empty({x.size(0), x.size(1)}, x.options());

  struct Block {
    size_t span;
    int64_t row;
  };

  std::vector<Block> blocks;
  for (size_t i = 0; i < sequence.spans.size(); ++i) {
    for (int64_t row = 0; row < sequence.spans[i].query_length; row += kRows) {
      blocks.push_back({i, row});
    }
  }
  cpu::parallel_tasks(static_cast<int64_t>(blocks.size()), [&](cpu::Range part) {
    for (int64_t b = part.begin; b < part.end; ++b) {
      const Block& block = blocks[b];
      const SequenceSpan& span = sequence.spans[block.span];
      cpu::Convolution args{
          rows_of(x, span, taps),
          row_of(y.mutable_data_ptr(), x, span.query_begin, x.size(1))};
      args.in.before = before(block.span);
      cpu::convolve(
          args,
          {block.row,
           std::min(block.row + kRows, span.query_length),
           0,
           args.in.channels});
    }
  });
  return y;
}

struct Gradients {
  Tensor x;
  Tensor taps;  // fp32 [4, C]
};

Gradients backward(
    const Tensor& x,
    const Tensor& taps,
    const SequenceContext& sequence,
    const Tensor& grad) {
  const Tensor dy = grad.stride(1) == 1 ? grad : grad.contiguous();
  const int64_t channels = x.size(1);
  Gradients d{at::empty({x.size(0), channels}, x.options()), at::zeros_like(taps)};
  // A thread owns its channels in all rows, so that the taps' sums have one order.
  const int64_t groups = (channels + kChannels - 1) / kChannels;
  cpu::parallel_tasks(groups, [&](cpu::Range part) {
    for (const SequenceSpan& span : sequence.spans) {
      const cpu::ConvolutionBackward args{
          .in = rows_of(x, span, taps),
          .dy = row_of(dy.const_data_ptr(), dy, span.query_begin, dy.stride(0)),
          .dy_stride = dy.stride(0),
          .dx = row_of(d.x.mutable_data_ptr(), x, span.query_begin, channels),
          .d_taps = d.taps.mutable_data_ptr<float>()};
      for (int64_t row = 0; row < span.query_length; row += kRows) {
        cpu::convolve_backward(
            args,
            {row,
             std::min(row + kRows, span.query_length),
             part.begin * kChannels,
             std::min(part.end * kChannels, channels)});
      }
    }
  });
  return d;
}

// What backward needs beside tensors.
struct SavedCall : torch::CustomClassHolder {
  SavedCall(const SequenceContext& s, const WeightHandle& w) : sequence(s), weight(w) {}

  SequenceContext sequence;
  WeightHandle weight;
};

struct ShortConvolutionFunction : torch::autograd::Function<ShortConvolutionFunction> {
  static constexpr size_t kInputStub = 1;

  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& x,
      const Tensor& /*stub*/,
      const WeightHandle& weight,
      const SequenceContext& sequence) {
    ctx->save_for_backward({x});
    ctx->saved_data["call"] =
        c10::IValue::make_capsule(c10::make_intrusive<SavedCall>(sequence, weight));
    return titan::ops::forward(x, taps(weight), sequence, [](size_t) { return nullptr; });
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const Tensor x = ctx->get_saved_variables().at(0);
    const auto& call =
        static_cast<const SavedCall&>(*ctx->saved_data.at("call").toCapsule());
    const Gradients d =
        titan::ops::backward(x, taps(call.weight), call.sequence, grads[0]);
    if (ctx->needs_input_grad(kInputStub)) {
      const Tensor value = call.weight.value();
      call.weight.source->add_grad(
          call.weight.index, d.taps.t().contiguous().view(value.sizes()));
    }
    return {d.x, Tensor(), Tensor(), Tensor()};
  }
};

void check_cache(
    const Tensor& x, const SequenceContext& sequence, const ConvolutionCache& cache) {
  const Tensor& rows = cache.rows;
  TORCH_CHECK(
      rows.scalar_type() == x.scalar_type() && rows.is_contiguous() && rows.dim() == 3 &&
          rows.size(1) == kHistory && rows.size(2) == x.size(1),
      "[short_convolution] expected contiguous ",
      x.scalar_type(),
      " rows [slots, 3, ",
      x.size(1),
      "], got ",
      rows.scalar_type(),
      " ",
      rows.sizes());
  TORCH_CHECK(
      cache.slots.size() == sequence.spans.size(),
      "[short_convolution] expected a slot for each of ",
      sequence.spans.size(),
      " spans, got ",
      cache.slots.size());
  std::vector<int64_t> slots = cache.slots;
  std::sort(slots.begin(), slots.end());
  for (size_t i = 0; i < slots.size(); ++i) {
    TORCH_CHECK(
        slots[i] >= 0 && slots[i] < rows.size(0) && (i == 0 || slots[i - 1] < slots[i]),
        "[short_convolution] expected different slots of ",
        rows.size(0),
        ", got ",
        cache.slots);
  }
}

}  // namespace

Tensor short_convolution(
    const Tensor& x, const Weight& weight, const SequenceContext& sequence) {
  check(x, weight, sequence);
  for (const SequenceSpan& span : sequence.spans) {
    TORCH_CHECK(
        span.position == 0,
        "[short_convolution] expected whole sequences, but the span at row ",
        span.query_begin,
        " starts at position ",
        span.position);
  }
  return ShortConvolutionFunction::apply(x, weight.stub, weight.handle, sequence);
}

Tensor short_convolution_cached(
    const Tensor& x,
    const Weight& weight,
    const SequenceContext& sequence,
    const ConvolutionCache& cache) {
  check(x, weight, sequence);
  check_cache(x, sequence, cache);
  const at::NoGradGuard no_grad;
  const auto slot = [&](size_t i) { return cache.rows[cache.slots[i]]; };
  for (size_t i = 0; i < sequence.spans.size(); ++i) {
    if (sequence.spans[i].position == 0) {
      slot(i).zero_();
    }
  }
  const Tensor y = forward(x, taps(weight.handle), sequence, [&](size_t i) {
    return row_of(cache.rows.const_data_ptr(), x, cache.slots[i], cache.rows.stride(0));
  });
  for (size_t i = 0; i < sequence.spans.size(); ++i) {
    const SequenceSpan& span = sequence.spans[i];
    const Tensor rows =
        at::cat({slot(i), x.narrow(0, span.query_begin, span.query_length)});
    slot(i).copy_(rows.narrow(0, span.query_length, kHistory));
  }
  return y;
}

Tensor short_convolution_plain(
    const Tensor& x, const Tensor& weight, const SequenceContext& sequence) {
  const int64_t channels = x.size(1);
  std::vector<Tensor> outs = {x.new_empty({0, channels})};
  for (const SequenceSpan& span : sequence.spans) {
    if (span.query_length == 0) {
      continue;
    }
    const Tensor rows = x.narrow(0, span.query_begin, span.query_length);
    const Tensor padded = at::constant_pad_nd(rows.t(), {kHistory, 0}).unsqueeze(0);
    const Tensor taps = weight.to(x.scalar_type()).view({channels, 1, kConvolutionTaps});
    const Tensor sums = at::convolution(
        padded, taps, {}, {1}, {0}, {1}, /*transposed=*/false, {0}, channels);
    outs.push_back(at::silu(sums.squeeze(0).t()));
  }
  return at::cat(outs);
}

}  // namespace titan::ops
