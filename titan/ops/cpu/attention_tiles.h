#pragma once
// What attention's forward and backward kernels share: operand tiles for brgemm, cut out
// of the strided rows of a head. Kernel-private: included only by files compiled per
// instruction set.

#include <cstdint>

#include "titan/ops/cpu/attention_args.h"
#include "titan/ops/cpu/brgemm.h"
#include "titan/ops/cpu/scratch.h"
#include "titan/ops/cpu/transpose.h"
#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

// The operand type of brgemm for tensors of type In: bf16 is widened where brgemm lacks
// it.
#if defined(__AVX512BF16__)
template <class In>
using TileOf = In;
#else
template <class In>
using TileOf = float;
#endif

inline constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

inline constexpr int64_t round_down(int64_t n, int64_t multiple) {
  return n / multiple * multiple;
}

inline constexpr int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

inline constexpr int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// The contracted length that brgemm is given for `n` columns: bf16 takes pairs, and AMX
// promises equal bits only up to 32 or at multiples of 32.
template <class Tile>
constexpr int64_t depth_of(int64_t n) {
  return sizeof(Tile) == sizeof(float) ? n : round_up(n, n <= 32 ? 2 : 32);
}

// Added to leading dimensions so that rows do not fall into the same cache sets. In
// floats.
inline constexpr int64_t kSkew = 16;

// Rows of one head, wherever they stand; a row that is null counts as zeros, as do the
// rows from `count` on.
template <class In>
struct RowTable {
  const In* const* rows;
  int64_t count;
  int64_t width;

  [[nodiscard]] const In* row(int64_t r) const { return r < count ? rows[r] : nullptr; }
};

template <class In>
const In* row_of(const HeadTensor& tensor, int64_t row, int64_t head) {
  return static_cast<const In*>(tensor.data) + row * tensor.row_stride +
         head * tensor.head_stride;
}

// Columns [column, column + 16) of a row, zero behind its end.
template <class In>
F16 load_columns(const In* row, int64_t width, int64_t column) {
  const int64_t left = width - column;
  return left >= kLanes ? load(row + column)
                        : load_first(row + column, static_cast<int>(left));
}

// A operand: row-major [rows, stride], zero-padded. REQUIRES: stride a multiple of 16.
template <class Tile, class In>
void copy_rows(const RowTable<In>& from, Tile* to, int64_t stride, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    const In* row = from.row(r);
    const int64_t width = row == nullptr ? 0 : from.width;
    int64_t c = 0;
    for (; c < width; c += kLanes) {
      store(to + r * stride + c, load_columns(row, width, c));
    }
    for (; c < stride; c += kLanes) {
      store(to + r * stride + c, splat(0));
    }
  }
}

// to[c, r] = from[r, c]: [columns, stride], zero-padded. A operand of either type, or B
// operand of fp32. REQUIRES: rows a multiple of 16 and at most stride.
template <class Tile, class In>
void copy_transposed(
    const RowTable<In>& from, Tile* to, int64_t stride, int64_t columns, int64_t rows) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      F16 block[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        const In* row = c < from.width ? from.row(r + i) : nullptr;
        block[i] = row == nullptr ? splat(0) : load_columns(row, from.width, c);
      }
      transpose16(block);
      for (int64_t i = 0; i < smaller(kLanes, columns - c); ++i) {
        store(to + (c + i) * stride + r, block[i]);
      }
    }
  }
}

// B operand whose contracted dimension runs over the columns of `from` (K^T in Q K^T).
template <class In>
void pack_columns(
    const RowTable<In>& from, float* to, int64_t stride, int64_t depth, int64_t rows) {
  copy_transposed(from, to, stride, depth, rows);
}

// B operand whose contracted dimension runs over the rows of `from` (V in P V).
template <class In>
void pack_rows(const RowTable<In>& from, float* to, int64_t stride, int64_t rows) {
  copy_rows(from, to, stride, rows);
}

inline void store_two(float* p, F16 a, F16 b) {
  store(p, a);
  store(p + kLanes, b);
}

#if defined(__AVX512BF16__)

inline void store_two(Bf16* p, F16 a, F16 b) {
  _mm512_storeu_si512(p, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b.v, a.v)));
}

// a0 b0 a1 b1 ...: the order in which brgemm reads two rows of a bf16 B operand.
inline __m512i interleave(__m512i a_then_b) {
  const __m512i order = _mm512_set_epi16(
      31,
      15,
      30,
      14,
      29,
      13,
      28,
      12,
      27,
      11,
      26,
      10,
      25,
      9,
      24,
      8,  //
      23,
      7,
      22,
      6,
      21,
      5,
      20,
      4,
      19,
      3,
      18,
      2,
      17,
      1,
      16,
      0);
  return _mm512_permutexvar_epi16(order, a_then_b);
}

// Up to 32 elements, zero behind `count`.
inline __m512i load_bits32(const Bf16* p, int64_t count) {
  if (count >= 2 * kLanes) {
    return _mm512_loadu_si512(p);
  }
  const auto mask = static_cast<__mmask32>((1U << larger(0, count)) - 1);
  return _mm512_maskz_loadu_epi16(mask, p);
}

inline void copy_rows(
    const RowTable<Bf16>& from, Bf16* to, int64_t stride, int64_t rows) {
  constexpr int64_t kStep = 2 * kLanes;
  for (int64_t r = 0; r < rows; ++r) {
    const Bf16* row = from.row(r);
    const int64_t width = row == nullptr ? 0 : from.width;
    int64_t c = 0;
    for (; c + kStep <= stride; c += kStep) {
      const __m512i bits =
          c < width ? load_bits32(row + c, width - c) : _mm512_setzero_si512();
      _mm512_storeu_si512(to + r * stride + c, bits);
    }
    if (c < stride) {
      const __m512i bits =
          c < width ? load_bits32(row + c, width - c) : _mm512_setzero_si512();
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(to + r * stride + c), _mm512_castsi512_si256(bits));
    }
  }
}

// Pairs of columns are moved as 32-bit units.
inline void pack_columns(
    const RowTable<Bf16>& from, Bf16* to, int64_t stride, int64_t depth, int64_t rows) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    for (int64_t c = 0; c < depth; c += 2 * kLanes) {
      const int64_t left = smaller(from.width - c, 2 * kLanes);
      const auto mask = static_cast<__mmask32>(left <= 0 ? 0 : ~0U >> (32 - left));
      F16 block[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        const Bf16* row = from.row(r + i);
        block[i].v = row == nullptr
                         ? _mm512_setzero_ps()
                         : _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, row + c));
      }
      transpose16(block);
      for (int64_t i = 0; i < smaller(kLanes, (depth - c) / 2); ++i) {
        _mm512_storeu_ps(to + (c + 2 * i) * stride + 2 * r, block[i].v);
      }
    }
  }
}

inline __m256i load_bits(const RowTable<Bf16>& from, int64_t r, int64_t column) {
  const Bf16* row = from.row(r);
  if (row == nullptr) {
    return _mm256_setzero_si256();
  }
  if (column + kLanes <= from.width) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + column));
  }
  const auto left = static_cast<int>(larger(0, from.width - column));
  return _mm256_maskz_loadu_epi16(first_lanes(left), row + column);
}

// REQUIRES: rows even.
inline void pack_rows(
    const RowTable<Bf16>& from, Bf16* to, int64_t stride, int64_t rows) {
  for (int64_t r = 0; r < rows; r += 2) {
    for (int64_t c = 0; c < stride; c += kLanes) {
      const __m512i pair = _mm512_inserti64x4(
          _mm512_castsi256_si512(load_bits(from, r, c)), load_bits(from, r + 1, c), 1);
      _mm512_storeu_si512(to + r * stride + 2 * c, interleave(pair));
    }
  }
}

#endif

// Hands out aligned pieces of one buffer. Made with a null base it only measures.
class Carver {
 public:
  explicit Carver(void* base) : base_(reinterpret_cast<uintptr_t>(base)) {}

  template <class T>
  T* take(int64_t count) {
    constexpr size_t kLine = 64;
    const uintptr_t piece = base_ + size_;
    size_ += (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine;
    return reinterpret_cast<T*>(piece);
  }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  uintptr_t base_;
  size_t size_ = 0;
};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
