#include "titan/ops/cpu/weight_grad.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops::cpu {
namespace {

// Tokens that are transposed at a time: the rows of A of one task then stay in the cache.
template <class P>
constexpr int64_t kTokenSpan = 4096 / sizeof(P);
static_assert(kTokenSpan<float> % kDepthChunk<float> == 0);
static_assert(kTokenSpan<Bf16> % kDepthChunk<Bf16> == 0);

}  // namespace

int64_t grad_rows_at_a_time(int64_t rows, int64_t threads) {
  constexpr int64_t kMost = 192;
  const int64_t tasks = threads * ceil_div(rows, threads * kMost);
  return round_up(ceil_div(rows, tasks), 16);
}

template <class S, class P>
void grad_rows(
    const Matrix<const S>& dy, const Packed<P>& x, bool accumulate, float* out) {
  // A stride off the powers of two, so that rows do not share cache sets.
  const int64_t stride = std::min(kTokenSpan<P>, round_up(dy.rows, 32)) + 32;
  P* turned = scratch_of<P>(2, static_cast<size_t>(dy.columns * stride));
  // With one span a block is finished in one go, so that a small tile is enough to add
  // from.
  const bool one_span = dy.rows <= kTokenSpan<P>;
  const int64_t width = accumulate && one_span ? kBlockColumns : x.columns;
  float* formed = out;
  if (accumulate) {
    formed = scratch_of<float>(0, static_cast<size_t>(dy.columns * width));
  }
  for (int64_t t = 0; t < dy.rows; t += kTokenSpan<P>) {
    const Packed<P> span = x.depth_from(t, kTokenSpan<P>);
    const Matrix<const P> rows{turned, dy.columns, span.depth, stride};
    operand_kernels<S, P>().transpose(dy.rows_from(t, kTokenSpan<P>), turned, stride);
    const bool last = t + kTokenSpan<P> >= dy.rows;
    for (int64_t column = 0; column < x.columns; column += width) {
      const Packed<P> part = span.columns_from(column, width);
      multiply(rows, part, t > 0, formed, width);
      if (accumulate && last) {
        tile_kernels().add(
            {formed, dy.columns, part.columns, width}, out + column, x.columns);
      }
    }
  }
}

template <class S, class P>
Packed<P> pack_activations(const Matrix<const S>& x) {
  const int64_t depth = padded_depth<P>(x.rows);
  const int64_t blocks = ceil_div(x.columns, kBlockColumns);
  P* packed = scratch_of<P>(3, static_cast<size_t>(blocks * kBlockColumns * depth));
  pack_rows(x, packed);
  return {packed, x.columns, depth, depth * kBlockColumns};
}

template <class S, class P>
void weight_grad(
    const Matrix<const S>& dy, const Packed<P>& x, bool accumulate, float* out) {
  const int64_t rows = grad_rows_at_a_time(dy.columns, at::get_num_threads());
  parallel_tasks(ceil_div(dy.columns, rows), [&](Range tasks) {
    const BrgemmScope scope;
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      const Matrix<const S> part = dy.columns_from(task * rows, rows);
      grad_rows(part, x, accumulate, out + task * rows * x.columns);
    }
  });
}

void weight_grad(const Tensor& dy, const Tensor& x, const WeightSource::GradView& grad) {
  if (x.size(0) == 0) {
    if (!grad.accumulate) {
      grad.buffer.zero_();
    }
    return;
  }
  const at::ScalarType dtype = x.scalar_type();
  with_operands(dtype, operand_dtype(dtype), [&]<class S, class P>(S, P) {
    const Packed<P> packed = pack_activations<S, P>(matrix_of<S>(x));
    weight_grad(matrix_of<S>(dy), packed, grad.accumulate, data_of<float>(grad.buffer));
  });
}

template Packed<float> pack_activations(const Matrix<const float>&);
template Packed<float> pack_activations(const Matrix<const Bf16>&);
template Packed<Bf16> pack_activations(const Matrix<const Bf16>&);
template void grad_rows(const Matrix<const float>&, const Packed<float>&, bool, float*);
template void grad_rows(const Matrix<const Bf16>&, const Packed<float>&, bool, float*);
template void grad_rows(const Matrix<const Bf16>&, const Packed<Bf16>&, bool, float*);
template void weight_grad(const Matrix<const float>&, const Packed<float>&, bool, float*);
template void weight_grad(const Matrix<const Bf16>&, const Packed<float>&, bool, float*);
template void weight_grad(const Matrix<const Bf16>&, const Packed<Bf16>&, bool, float*);

}  // namespace titan::ops::cpu
