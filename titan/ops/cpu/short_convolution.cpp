#include "titan/ops/cpu/short_convolution.h"

#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

constexpr int kTaps = 4;

// Sixteen channels from `channel` on, of which n are there.
template <class T>
class Column {
 public:
  Column(const ConvolutionRows& in, int64_t channel, int n)
      : in_(in), channel_(channel), n_(n) {
    for (int j = 0; j < kTaps; ++j) {
      taps_[j] = get(in.taps + j * in.channels + channel, n);
    }
  }

  // x at row t > -4.
  [[nodiscard]] F16 x(int64_t t) const {
    if (t >= 0) {
      return get(static_cast<const T*>(in_.x) + t * in_.stride + channel_, n_);
    }
    if (in_.before == nullptr) {
      return splat(0);
    }
    const int64_t row = kTaps - 1 + t;
    return get(static_cast<const T*>(in_.before) + row * in_.channels + channel_, n_);
  }

  // The sum for the row of x[3].
  [[nodiscard]] F16 convolved(const F16 (&x)[kTaps]) const {
    F16 sum = taps_[0] * x[0];
    for (int j = 1; j < kTaps; ++j) {
      sum = fma(taps_[j], x[j], sum);
    }
    return sum;
  }

  // The gradient of a row, from those of its own sum and of the three behind it.
  [[nodiscard]] F16 transposed(const F16 (&d_sums)[kTaps]) const {
    F16 sum = taps_[kTaps - 1] * d_sums[0];
    for (int j = 1; j < kTaps; ++j) {
      sum = fma(taps_[kTaps - 1 - j], d_sums[j], sum);
    }
    return sum;
  }

 private:
  const ConvolutionRows& in_;
  int64_t channel_;
  int n_;
  F16 taps_[kTaps];
};

void push(F16 (&window)[kTaps], F16 next) {
  for (int j = 0; j + 1 < kTaps; ++j) {
    window[j] = window[j + 1];
  }
  window[kTaps - 1] = next;
}

F16 sigmoid(F16 x) {
  return splat(1) / (splat(1) + exp(splat(0) - x));
}

template <class T>
void forward(const Convolution& args, const ConvolutionBlock& block) {
  const ConvolutionRows& in = args.in;
  for_vectors(block.channel_begin, block.channel_end, [&](int64_t channel, int n) {
    const Column<T> column(in, channel, n);
    F16 x[kTaps];
    for (int64_t t = block.row_begin - kTaps + 1; t < block.row_begin; ++t) {
      push(x, column.x(t));
    }
    for (int64_t t = block.row_begin; t < block.row_end; ++t) {
      push(x, column.x(t));
      const F16 sum = column.convolved(x);
      put(static_cast<T*>(args.y) + t * in.channels + channel, sum * sigmoid(sum), n);
    }
  });
}

// The gradients of the sums are computed for three rows behind the block as well.
template <class T>
void backward(const ConvolutionBackward& args, const ConvolutionBlock& block) {
  const ConvolutionRows& in = args.in;
  for_vectors(block.channel_begin, block.channel_end, [&](int64_t channel, int n) {
    const Column<T> column(in, channel, n);
    F16 x[kTaps];
    F16 d_sums[kTaps];
    F16 d_taps[kTaps];
    for (int j = 0; j < kTaps; ++j) {
      d_sums[j] = splat(0);
      d_taps[j] = splat(0);
    }
    for (int64_t t = block.row_begin - kTaps + 1; t < block.row_begin; ++t) {
      push(x, column.x(t));
    }
    for (int64_t t = block.row_begin; t < block.row_end + kTaps - 1; ++t) {
      F16 d_sum = splat(0);
      if (t < in.rows) {
        push(x, column.x(t));
        const F16 sum = column.convolved(x);
        const F16 s = sigmoid(sum);
        const F16 slope = s * fma(sum, splat(1) - s, splat(1));
        d_sum =
            get(static_cast<const T*>(args.dy) + t * args.dy_stride + channel, n) * slope;
      }
      push(d_sums, d_sum);
      for (int j = 0; j < kTaps && t < block.row_end; ++j) {
        d_taps[j] = fma(d_sum, x[j], d_taps[j]);
      }
      const int64_t done = t - kTaps + 1;
      if (done >= block.row_begin) {
        T* dx = static_cast<T*>(args.dx) + done * in.channels + channel;
        put(dx, column.transposed(d_sums), n);
      }
    }
    for (int j = 0; j < kTaps; ++j) {
      float* to = args.d_taps + j * in.channels + channel;
      put(to, get(to, n) + d_taps[j], n);
    }
  });
}

}  // namespace

void convolve(const Convolution& args, const ConvolutionBlock& block) {
  args.in.bf16 ? forward<Bf16>(args, block) : forward<float>(args, block);
}

void convolve_backward(const ConvolutionBackward& args, const ConvolutionBlock& block) {
  args.in.bf16 ? backward<Bf16>(args, block) : backward<float>(args, block);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
