#pragma once
// Matrix products on brgemm whose rows do not depend on each other: the contracted
// dimension is walked in chunks of a fixed length from 0, never split across threads,
// whatever the number of rows, columns and threads.
//
// Scratch slots: 0 fp32 tiles, 1 rows of A, 2 transposed rows of A, 3 packed activations.

#include <algorithm>
#include <type_traits>

#include <ATen/core/Tensor.h>

#include "titan/ops/cpu/operands.h"

namespace titan::ops::cpu {

using at::Tensor;

// Length of one chunk of the contracted dimension; part of the numerics of fp32 and of
// AVX512_BF16 (AMX adds in the same order with and without a cut). Shorter in fp32, where
// the rounding of a long running sum is what limits the result.
template <class P>
inline constexpr int64_t kDepthChunk = 2048;
template <>
inline constexpr int64_t kDepthChunk<float> = 512;

// Rows of A that are multiplied with one block of B.
inline constexpr int64_t kBlockRows = 256;

// A packed B operand [depth, columns], or a part of one.
template <class P>
struct Packed {
  const P* data;
  int64_t columns;
  int64_t depth;
  int64_t block_stride;  // elements from block to block

  [[nodiscard]] int64_t num_blocks() const { return ceil_div(columns, kBlockColumns); }

  // Columns [begin, begin + count), cut at the end. REQUIRES: begin a multiple of 64.
  [[nodiscard]] Packed columns_from(int64_t begin, int64_t count) const {
    const P* first = data + begin / kBlockColumns * block_stride;
    return {first, std::min(count, columns - begin), depth, block_stride};
  }

  // Depth [begin, begin + count), cut at the end. REQUIRES: begin a multiple of
  // kDepthChunk<P>.
  [[nodiscard]] Packed depth_from(int64_t begin, int64_t count) const {
    const P* first = data + begin * kBlockColumns;
    return {first, columns, std::min(count, depth - begin), block_stride};
  }
};

template <class T>
T* data_of(const Tensor& t) {
  return static_cast<T*>(t.mutable_data_ptr());
}

// A contiguous matrix tensor, and a tensor of pack_weight for `columns` columns.
template <class T>
Matrix<const T> matrix_of(const Tensor& t) {
  return {static_cast<const T*>(t.const_data_ptr()), t.size(0), t.size(1), t.size(1)};
}

template <class P>
Packed<P> packed_of(const Tensor& packed, int64_t columns) {
  const int64_t block = packed.numel() / packed.size(0);
  const int64_t depth = block / kBlockColumns;
  return {static_cast<const P*>(packed.const_data_ptr()), columns, depth, block};
}

// The element type that products in `compute` multiply on this processor.
[[nodiscard]] at::ScalarType operand_dtype(at::ScalarType compute);

// Calls body(S{}, P{}) for rows of dtype `source` and operands of dtype `operand`.
template <class Body>
void with_operands(at::ScalarType source, at::ScalarType operand, Body body) {
  TORCH_CHECK(
      operand == at::kFloat || (operand == at::kBFloat16 && source == at::kBFloat16),
      "[gemm] rows of ",
      source,
      " do not fit a weight packed as ",
      operand);
  if (operand == at::kBFloat16) {
    body(Bf16{}, Bf16{});
  } else if (source == at::kBFloat16) {
    body(Bf16{}, float{});
  } else {
    body(float{}, float{});
  }
}

// All blocks of B operands from source, on at::get_num_threads() threads.
template <class S, class P>
void pack_rows(const Matrix<const S>& source, P* out);

// The rows as A operand: themselves where they can be, else a copy of the padded depth in
// the calling thread's scratch slot 1.
template <class S, class P>
Matrix<const P> operand_rows(const Matrix<const S>& rows);

// C = A B, or C += A B, on the calling thread; C has b.columns columns. The one place
// that decides the order of additions. REQUIRES: a BrgemmScope; a.columns == b.depth.
template <class P>
void multiply(
    const Matrix<const P>& a,
    const Packed<P>& b,
    bool accumulate,
    float* c,
    int64_t stride);

// The columns of B that should be multiplied at a time with up to kBlockRows of `rows`
// rows, for the caches' sake.
template <class P>
[[nodiscard]] int64_t columns_at_a_time(int64_t rows, int64_t depth);

// out = A B rounded to O (float or Bf16), on the calling thread. REQUIRES: as multiply;
// at most columns_at_a_time() columns and kBlockRows rows.
template <class P, class O>
void multiply_block(const Matrix<const P>& a, const Packed<P>& b, O* out, int64_t stride);

// multiply() on at::get_num_threads() threads, C contiguous.
template <class P>
void multiply_parallel(
    const Matrix<const P>& a, const Packed<P>& b, bool accumulate, float* c);

// x [M, K] times a packed weight with `columns` columns: [M, columns] of dtype `out`
// (fp32, or x's dtype). On at::get_num_threads() threads.
Tensor gemm(const Tensor& x, const Tensor& packed, int64_t columns, at::ScalarType out);

}  // namespace titan::ops::cpu
