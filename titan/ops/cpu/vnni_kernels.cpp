// Operands of bf16 products, from bf16 or rounded from fp32. Only for AVX512_BF16 and
// above: below, products are fp32.

#define TITAN_ISA_NAMESPACE avx512_bf16

#include "titan/ops/cpu/operands.h"
#include "titan/ops/cpu/transpose.h"
#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::avx512_bf16 {
namespace {

inline int lanes_left(int64_t left, int most) {
  return static_cast<int>(left < 0 ? 0 : left < most ? left : most);
}

// n <= 16 elements as bf16, zero behind them.
inline __m256i load16(const Bf16* p, int n) {
  return _mm256_maskz_loadu_epi16(first_lanes(n), p);
}

inline __m256i load16(const float* p, int n) {
  return to_bf16(load_first(p, n));
}

// n <= 32 elements as sixteen pairs.
inline F16 load_pairs(const Bf16* p, int n) {
  const auto mask = static_cast<__mmask32>((uint64_t{1} << n) - 1);
  return {_mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, p))};
}

inline F16 load_pairs(const float* p, int n) {
  const int low = n < kLanes ? n : kLanes;
  const __m512i halves = _mm512_castsi256_si512(load16(p, low));
  return {_mm512_castsi512_ps(_mm512_inserti64x4(halves, load16(p + low, n - low), 1))};
}

// Columns [c, c + 32) of rows [r, r + 16) as pairs, zero beyond the ends.
template <class S>
inline void load_pairs16(
    const Matrix<const S>& m, int64_t r, int64_t c, F16 (&block)[kLanes]) {
  const int n = lanes_left(m.columns - c, 2 * kLanes);
  for (int i = 0; i < kLanes; ++i) {
    block[i] =
        r + i < m.rows ? load_pairs(m.data + (r + i) * m.stride + c, n) : splat(0.0F);
  }
}

template <class S>
void pack_rows(const Matrix<const S>& source, Bf16* block) {
  const int64_t depth = padded_depth<Bf16>(source.rows);
  for (int64_t r = 0; r < depth; r += 2) {
    for (int64_t c = 0; c < kBlockColumns; c += kLanes) {
      const int n = lanes_left(source.columns - c, kLanes);
      const S* p = source.data + r * source.stride + c;
      const __m256i zero = _mm256_setzero_si256();
      const __m256i even = r < source.rows ? load16(p, n) : zero;
      const __m256i odd = r + 1 < source.rows ? load16(p + source.stride, n) : zero;
      const __m512i pairs = _mm512_or_si512(
          _mm512_cvtepu16_epi32(even), _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
      _mm512_storeu_si512(block + r * kBlockColumns + 2 * c, pairs);
    }
  }
}

template <class S>
void pack_columns(const Matrix<const S>& source, Bf16* block) {
  F16 tile[kLanes];
  for (int64_t k = 0; k < padded_depth<Bf16>(source.columns); k += 2 * kLanes) {
    for (int64_t c = 0; c < kBlockColumns; c += kLanes) {
      load_pairs16(source, c, k, tile);
      transpose16(tile);
      for (int i = 0; i < kLanes; ++i) {
        _mm512_storeu_ps(block + (k + 2 * i) * kBlockColumns + 2 * c, tile[i].v);
      }
    }
  }
}

template <class S>
void copy(const Matrix<const S>& source, Bf16* out) {
  const int64_t depth = padded_depth<Bf16>(source.columns);
  for (int64_t r = 0; r < source.rows; ++r) {
    for (int64_t c = 0; c < depth; c += 2 * kLanes) {
      const int n = lanes_left(source.columns - c, 2 * kLanes);
      const F16 pairs = load_pairs(source.data + r * source.stride + c, n);
      _mm512_storeu_ps(out + r * depth + c, pairs.v);
    }
  }
}

template <class S>
void transpose(const Matrix<const S>& source, Bf16* out, int64_t stride) {
  F16 tile[kLanes];
  for (int64_t c = 0; c < source.columns; c += 2 * kLanes) {
    const int columns = lanes_left(source.columns - c, 2 * kLanes);
    for (int64_t r = 0; r < padded_depth<Bf16>(source.rows); r += kLanes) {
      load_pairs16(source, r, c, tile);
      transpose16(tile);
      for (int i = 0; i < columns; ++i) {
        const __m512i pairs = _mm512_castps_si512(tile[i / 2].v);
        const __m512i half = i % 2 == 0 ? pairs : _mm512_srli_epi32(pairs, 16);
        void* to = out + (c + i) * stride + r;
        _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtepi32_epi16(half));
      }
    }
  }
}

}  // namespace

extern const OperandKernels<float, Bf16> kNarrowedOperands = {
    pack_rows<float>, pack_columns<float>, copy<float>, transpose<float>};
extern const OperandKernels<Bf16, Bf16> kBf16Operands = {
    pack_rows<Bf16>, pack_columns<Bf16>, copy<Bf16>, transpose<Bf16>};

}  // namespace titan::ops::cpu::avx512_bf16
