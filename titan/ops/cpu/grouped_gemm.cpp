#include "titan/ops/cpu/grouped_gemm.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/cpu/scratch.h"
#include "titan/ops/cpu/weight_grad.h"

namespace titan::ops::cpu {
namespace {

// What a unit costs is what its arithmetic takes, in rows, or the traffic that it needs
// with any number of rows. Measured with AMX; elsewhere arithmetic weighs more.
constexpr int64_t kWeightTraffic = 24;  // a block of the weight is read
constexpr int64_t kGradTraffic = 96;    // rows of dW are written

// Rows of dW in one unit.
constexpr int64_t kGradUnit = 16;

template <class P>
Packed<P> matrix_of_group(const Tensor& packed, int64_t group, int64_t columns) {
  const int64_t size = packed.numel() / packed.size(0);
  const int64_t block = size / packed.size(1);
  const auto* data = static_cast<const P*>(packed.const_data_ptr());
  return {data + group * size, columns, block / kBlockColumns, block};
}

// The rows of one group times some blocks of its matrix.
template <class P, class O>
void multiply_group(
    const Matrix<const P>& a, const Packed<P>& b, O* out, int64_t stride) {
  const int64_t width = columns_at_a_time<P>(a.rows, b.depth);
  for (int64_t row = 0; row < a.rows; row += kBlockRows) {
    for (int64_t column = 0; column < b.columns; column += width) {
      multiply_block(
          a.rows_from(row, kBlockRows),
          b.columns_from(column, width),
          out + row * stride + column,
          stride);
    }
  }
}

// x of one group as the B operand of its weight gradient, on the calling thread.
template <class S, class P>
Packed<P> pack_group(const Matrix<const S>& x) {
  const int64_t block = padded_depth<P>(x.rows) * kBlockColumns;
  const int64_t blocks = ceil_div(x.columns, kBlockColumns);
  P* packed = scratch_of<P>(3, static_cast<size_t>(blocks * block));
  for (int64_t i = 0; i < blocks; ++i) {
    operand_kernels<S, P>().pack_rows(
        x.columns_from(i * kBlockColumns, kBlockColumns), packed + i * block);
  }
  return {packed, x.columns, padded_depth<P>(x.rows), block};
}

// Rows of one group's dW.
template <class S, class P>
void grad_of_group(
    const Matrix<const S>& dy, const Matrix<const S>& x, bool accumulate, float* out) {
  if (x.rows == 0) {
    if (!accumulate) {
      std::fill_n(out, dy.columns * x.columns, 0.0F);
    }
    return;
  }
  const Packed<P> packed = pack_group<S, P>(x);
  const int64_t rows = grad_rows_at_a_time(dy.columns, /*threads=*/1);
  for (int64_t row = 0; row < dy.columns; row += rows) {
    grad_rows(dy.columns_from(row, rows), packed, accumulate, out + row * x.columns);
  }
}

}  // namespace

Tensor grouped_gemm(
    const Tensor& x, GroupOffsets offsets, const Tensor& packed, int64_t columns) {
  const Tensor y = at::empty({x.size(0), columns}, x.options());
  if (y.numel() == 0) {
    return y;
  }
  with_operands(x.scalar_type(), packed.scalar_type(), [&]<class S, class P>(S, P) {
    const Matrix<const P> rows = operand_rows<S, P>(matrix_of<S>(x));
    const Packed<P> first = matrix_of_group<P>(packed, 0, columns);
    TORCH_CHECK(
        rows.columns == first.depth,
        "[grouped_gemm] expected rows of a depth that fits ",
        first.depth,
        ", got ",
        x.size(1));
    S* out = data_of<S>(y);
    const auto cost = [](int64_t count) {
      return count == 0 ? 0 : count + kWeightTraffic;
    };
    parallel_groups(offsets, first.num_blocks(), cost, [&](int64_t group, Range blocks) {
      const Range own = rows_of_group(offsets, group);
      const int64_t column = blocks.begin * kBlockColumns;
      const Packed<P> part =
          matrix_of_group<P>(packed, group, columns)
              .columns_from(column, blocks.end * kBlockColumns - column);
      multiply_group(
          rows_of(rows, own), part, out + own.begin * columns + column, columns);
    });
  });
  return y;
}

void grouped_weight_grad(
    const Tensor& dy,
    const Tensor& x,
    GroupOffsets offsets,
    const WeightSource::GradView& grad) {
  const at::ScalarType dtype = x.scalar_type();
  with_operands(dtype, operand_dtype(dtype), [&]<class S, class P>(S, P) {
    const Matrix<const S> all_dy = matrix_of<S>(dy);
    const Matrix<const S> all_x = matrix_of<S>(x);
    auto* out = data_of<float>(grad.buffer);
    const bool accumulate = grad.accumulate;
    const int64_t units = ceil_div(all_dy.columns, kGradUnit);
    const auto cost = [accumulate](int64_t count) {
      return count == 0 && accumulate ? 0 : count + kGradTraffic;
    };
    parallel_groups(offsets, units, cost, [&](int64_t group, Range part) {
      const Range own = rows_of_group(offsets, group);
      const int64_t row = part.begin * kGradUnit;
      const Matrix<const S> part_dy =
          rows_of(all_dy, own).columns_from(row, part.end * kGradUnit - row);
      float* to = out + (group * all_dy.columns + row) * all_x.columns;
      grad_of_group<S, P>(part_dy, rows_of(all_x, own), accumulate, to);
    });
  });
}

}  // namespace titan::ops::cpu
