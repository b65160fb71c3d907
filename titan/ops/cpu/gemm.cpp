#include "titan/ops/cpu/gemm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops::cpu {
namespace {

// Rows whose fp32 tile is narrowed while it is in the nearest cache.
constexpr int64_t kStripRows = 64;
// Blocks of B that one task multiplies where its rows of A are too long to stay in the
// cache: each chunk of them is used for all these blocks.
constexpr int64_t kWideBlocks = 12;

template <class P, class O>
void multiply_all(const Matrix<const P>& a, const Packed<P>& b, bool accumulate, O* out) {
  const int64_t width = columns_at_a_time<P>(a.rows, b.depth);
  const int64_t row_tasks = ceil_div(a.rows, kBlockRows);
  const int64_t column_tasks = ceil_div(b.columns, width);
  parallel_tasks(row_tasks * column_tasks, [&](Range tasks) {
    const BrgemmScope scope;
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      const int64_t row = task / column_tasks * kBlockRows;
      const int64_t column = task % column_tasks * width;
      const Matrix<const P> rows = a.rows_from(row, kBlockRows);
      const Packed<P> part = b.columns_from(column, width);
      O* to = out + row * b.columns + column;
      if constexpr (std::is_same_v<O, float>) {
        multiply(rows, part, accumulate, to, b.columns);
      } else {
        multiply_block(rows, part, to, b.columns);
      }
    }
  });
}

template <class P>
void multiply_rows(
    const Matrix<const P>& a,
    const Packed<P>& b,
    bool accumulate,
    float* c,
    int64_t stride) {
  for (int64_t k = 0; k < b.depth; k += kDepthChunk<P>) {
    const int64_t depth = std::min(kDepthChunk<P>, b.depth - k);
    for (int64_t column = 0; column < b.columns; column += kBlockColumns) {
      const Packed<P> block = b.columns_from(column, kBlockColumns);
      const BrgemmShape shape{
          a.rows, block.columns, depth, a.stride, kBlockColumns, stride};
      const P* from = block.data + k * kBlockColumns;
      brgemm(shape, accumulate || k > 0, a.data + k, from, c + column);
    }
  }
}

}  // namespace

at::ScalarType operand_dtype(at::ScalarType compute) {
  TORCH_CHECK(
      compute == at::kFloat || compute == at::kBFloat16,
      "[gemm] expected float32 or bfloat16, got ",
      compute);
  return compute == at::kBFloat16 && has_bf16_brgemm() ? at::kBFloat16 : at::kFloat;
}

template <class S, class P>
void pack_rows(const Matrix<const S>& source, P* out) {
  const int64_t block = padded_depth<P>(source.rows) * kBlockColumns;
  parallel_tasks(ceil_div(source.columns, kBlockColumns), [&](Range blocks) {
    for (int64_t i = blocks.begin; i < blocks.end; ++i) {
      const auto columns = source.columns_from(i * kBlockColumns, kBlockColumns);
      operand_kernels<S, P>().pack_rows(columns, out + i * block);
    }
  });
}

template <class S, class P>
Matrix<const P> operand_rows(const Matrix<const S>& rows) {
  const int64_t depth = padded_depth<P>(rows.columns);
  if constexpr (std::is_same_v<S, P>) {
    if (depth == rows.columns) {
      return rows;
    }
  }
  P* copy = scratch_of<P>(1, static_cast<size_t>(rows.rows * depth));
  parallel_tasks(rows.rows, [&](Range part) {
    const auto from = rows.rows_from(part.begin, part.end - part.begin);
    operand_kernels<S, P>().copy(from, copy + part.begin * depth);
  });
  return {copy, rows.rows, depth, depth};
}

template <class P>
void multiply(
    const Matrix<const P>& a,
    const Packed<P>& b,
    bool accumulate,
    float* c,
    int64_t stride) {
  // Every number of rows is a kernel that takes time to generate: rows go in multiples of
  // sixteen and a rest, so that few kernels serve all.
  const int64_t whole = a.rows / 16 * 16;
  if (whole > 0) {
    multiply_rows(a.rows_from(0, whole), b, accumulate, c, stride);
  }
  if (whole < a.rows) {
    multiply_rows(
        a.rows_from(whole, a.rows - whole), b, accumulate, c + whole * stride, stride);
  }
}

template <class P>
int64_t columns_at_a_time(int64_t rows, int64_t depth) {
  const bool wide = rows > kStripRows && depth > 2 * kDepthChunk<P>;
  return wide ? kWideBlocks * kBlockColumns : kBlockColumns;
}

template <class P, class O>
void multiply_block(
    const Matrix<const P>& a, const Packed<P>& b, O* out, int64_t stride) {
  if constexpr (std::is_same_v<O, float>) {
    multiply(a, b, false, out, stride);
  } else {
    const bool wide = b.columns > kBlockColumns;
    const int64_t width = wide ? b.columns : kBlockColumns;
    const int64_t strip = wide ? kBlockRows : kStripRows;
    float* tile = scratch_of<float>(0, static_cast<size_t>(strip * width));
    for (int64_t r = 0; r < a.rows; r += strip) {
      const Matrix<const P> some = a.rows_from(r, strip);
      multiply(some, b, false, tile, width);
      tile_kernels().narrow(
          {tile, some.rows, b.columns, width}, out + r * stride, stride);
    }
  }
}

template <class P>
void multiply_parallel(
    const Matrix<const P>& a, const Packed<P>& b, bool accumulate, float* c) {
  multiply_all(a, b, accumulate, c);
}

Tensor gemm(const Tensor& x, const Tensor& packed, int64_t columns, at::ScalarType out) {
  const Tensor y = at::empty({x.size(0), columns}, x.options().dtype(out));
  if (y.numel() == 0) {
    return y;
  }
  with_operands(x.scalar_type(), packed.scalar_type(), [&]<class S, class P>(S, P) {
    const Packed<P> b = packed_of<P>(packed, columns);
    const Matrix<const P> rows = operand_rows<S, P>(matrix_of<S>(x));
    TORCH_CHECK(
        rows.columns == b.depth,
        "[gemm] expected rows of a depth that fits ",
        b.depth,
        ", got ",
        x.size(1));
    if (out == at::kFloat) {
      multiply_all(rows, b, false, data_of<float>(y));
    } else {
      multiply_all(rows, b, false, data_of<Bf16>(y));
    }
  });
  return y;
}

template void pack_rows(const Matrix<const float>&, float*);
template void pack_rows(const Matrix<const Bf16>&, float*);
template void pack_rows(const Matrix<const Bf16>&, Bf16*);
template Matrix<const float> operand_rows(const Matrix<const float>&);
template Matrix<const float> operand_rows(const Matrix<const Bf16>&);
template Matrix<const Bf16> operand_rows(const Matrix<const Bf16>&);
template void multiply(
    const Matrix<const float>&, const Packed<float>&, bool, float*, int64_t);
template void multiply(
    const Matrix<const Bf16>&, const Packed<Bf16>&, bool, float*, int64_t);
template int64_t columns_at_a_time<float>(int64_t, int64_t);
template int64_t columns_at_a_time<Bf16>(int64_t, int64_t);
template void multiply_block(
    const Matrix<const float>&, const Packed<float>&, float*, int64_t);
template void multiply_block(
    const Matrix<const float>&, const Packed<float>&, Bf16*, int64_t);
template void multiply_block(
    const Matrix<const Bf16>&, const Packed<Bf16>&, float*, int64_t);
template void multiply_block(
    const Matrix<const Bf16>&, const Packed<Bf16>&, Bf16*, int64_t);
template void multiply_parallel(
    const Matrix<const float>&, const Packed<float>&, bool, float*);
template void multiply_parallel(
    const Matrix<const Bf16>&, const Packed<Bf16>&, bool, float*);

}  // namespace titan::ops::cpu
