#pragma once
// How the operands of brgemm are made from row-major matrices. S is the element of the
// source (float or Bf16), P the element that is multiplied: Bf16 where has_bf16_brgemm(),
// else float.

#include <cstdint>

#include "titan/ops/cpu/brgemm.h"
#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

template <class T>
struct Matrix {
  T* data;
  int64_t rows;
  int64_t columns;
  int64_t stride;  // elements from row to row

  // Rows or columns [begin, begin + count), cut at the end.
  [[nodiscard]] Matrix rows_from(int64_t begin, int64_t count) const {
    return {
        data + begin * stride,
        count < rows - begin ? count : rows - begin,
        columns,
        stride};
  }

  [[nodiscard]] Matrix columns_from(int64_t begin, int64_t count) const {
    return {
        data + begin, rows, count < columns - begin ? count : columns - begin, stride};
  }
};

// Columns of one packed block, and the multiple that a contracted depth is padded to with
// zeros. On AMX a row of bf16 products has the same bits under any such padding, and only
// then.
inline constexpr int64_t kBlockColumns = 64;
template <class P>
inline constexpr int64_t kDepthMultiple = 1;
template <>
inline constexpr int64_t kDepthMultiple<Bf16> = 32;

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

template <class P>
constexpr int64_t padded_depth(int64_t depth) {
  return round_up(depth, kDepthMultiple<P>);
}

// A block is [depth, 64] of float, or [depth / 2, 64, 2] of Bf16. Everything up to the
// padded depth and the 64th column is written, zero where the source ends.
template <class S, class P>
struct OperandKernels {
  // B from source [depth, columns <= 64].
  void (*pack_rows)(const Matrix<const S>& source, P* block);
  // B from source [columns <= 64, depth].
  void (*pack_columns)(const Matrix<const S>& source, P* block);
  // A rows [rows, padded depth] from source [rows, depth].
  void (*copy)(const Matrix<const S>& source, P* out);
  // A rows [columns, stride] from source [depth, columns].
  // REQUIRES: stride >= round_up(depth, 32), the space that may be written.
  void (*transpose)(const Matrix<const S>& source, P* out, int64_t stride);
};

// What happens to a finished fp32 tile.
struct TileKernels {
  void (*narrow)(
      const Matrix<const float>& tile, Bf16* out, int64_t stride);  // out = tile
  void (*add)(
      const Matrix<const float>& tile, float* out, int64_t stride);  // out += tile
};

namespace avx2 {
extern const OperandKernels<float, float> kFloatOperands;
extern const OperandKernels<Bf16, float> kWidenedOperands;
extern const TileKernels kTile;
}  // namespace avx2

namespace avx512 {
extern const OperandKernels<float, float> kFloatOperands;
extern const OperandKernels<Bf16, float> kWidenedOperands;
extern const TileKernels kTile;
}  // namespace avx512

namespace avx512_bf16 {
extern const OperandKernels<float, float> kFloatOperands;
extern const OperandKernels<Bf16, float> kWidenedOperands;
extern const OperandKernels<float, Bf16> kNarrowedOperands;
extern const OperandKernels<Bf16, Bf16> kBf16Operands;
extern const TileKernels kTile;
}  // namespace avx512_bf16

template <class S, class P>
const OperandKernels<S, P>& operand_kernels();

template <>
inline const OperandKernels<float, float>& operand_kernels() {
  return TITAN_ISA_SELECT(kFloatOperands);
}

template <>
inline const OperandKernels<Bf16, float>& operand_kernels() {
  return TITAN_ISA_SELECT(kWidenedOperands);
}

// REQUIRES: has_bf16_brgemm().
template <>
inline const OperandKernels<float, Bf16>& operand_kernels() {
  return avx512_bf16::kNarrowedOperands;
}

template <>
inline const OperandKernels<Bf16, Bf16>& operand_kernels() {
  return avx512_bf16::kBf16Operands;
}

inline const TileKernels& tile_kernels() {
  return TITAN_ISA_SELECT(kTile);
}

}  // namespace titan::ops::cpu
