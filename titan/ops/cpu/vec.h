// Sixteen floats at a time, the one vector type of the kernel files. Included only by
// files that are compiled once per instruction set; everything is in that level's
// namespace, so the copies never mix. Reductions have one fixed order.
#pragma once

// GCC 12 takes the deliberately undefined operands inside its own intrinsics for
// mistakes.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <cstring>

#include "titan/ops/cpu/brgemm.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

inline constexpr int kLanes = 16;

#if defined(__AVX512F__)

struct F16 {
  __m512 v;
};

inline F16 splat(float x) {
  return {_mm512_set1_ps(x)};
}

inline F16 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}

inline void store(float* p, F16 a) {
  _mm512_storeu_ps(p, a.v);
}

inline F16 operator+(F16 a, F16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}

inline F16 operator-(F16 a, F16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}

inline F16 operator*(F16 a, F16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}

inline F16 operator/(F16 a, F16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}

// Of a NaN and a number, max and min give b.
inline F16 max(F16 a, F16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}

inline F16 min(F16 a, F16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}

inline F16 sqrt(F16 a) {
  return {_mm512_sqrt_ps(a.v)};
}

// a * b + c, rounded once.
inline F16 fma(F16 a, F16 b, F16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}

// The first n lanes (0 <= n <= 16); the others are zero, and memory behind them is not
// touched.
inline __mmask16 first_lanes(int n) {
  return static_cast<__mmask16>((1U << n) - 1);
}

inline F16 load_first(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}

inline void store_first(float* p, F16 a, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}

// Lanes from n on are replaced by `other`.
inline F16 keep_first(F16 a, int n, F16 other) {
  return {_mm512_mask_blend_ps(first_lanes(n), other.v, a.v)};
}

inline F16 load(const Bf16* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}

inline F16 load_first(const Bf16* p, int n) {
  const __m256i half = _mm256_maskz_loadu_epi16(first_lanes(n), p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}

// Round to nearest even.
inline __m256i to_bf16(F16 a) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(a.v));
#else
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(
      _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16));
#endif
}

inline F16 from_bf16(__m256i half) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}

inline void store(Bf16* p, F16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16(a));
}

inline void store_first(Bf16* p, F16 a, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), to_bf16(a));
}

inline float reduce_add(F16 a) {
  return _mm512_reduce_add_ps(a.v);
}

inline float reduce_max(F16 a) {
  return _mm512_reduce_max_ps(a.v);
}

// Where a <= b lanes of x, else (also where one is NaN) of y.
inline F16 where_less_equal(F16 a, F16 b, F16 x, F16 y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ), y.v, x.v)};
}

// x - floor(x); 0 for -inf.
inline F16 fraction(F16 x) {
  return {_mm512_reduce_ps(x.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}

// p 2^floor(x), down to denormals and 0.
inline F16 scale_by_power(F16 p, F16 x) {
  return {_mm512_scalef_ps(p.v, x.v)};
}

// Lanes 8..15 first, then 0..7.
inline F16 swap_halves(F16 a) {
  return {_mm512_shuffle_f32x4(a.v, a.v, 0x4e)};
}

#else  // AVX2: two halves

struct F16 {
  __m256 lo, hi;
};

inline F16 splat(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

inline F16 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

inline void store(float* p, F16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}

inline F16 operator+(F16 a, F16 b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}

inline F16 operator-(F16 a, F16 b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}

inline F16 operator*(F16 a, F16 b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}

inline F16 operator/(F16 a, F16 b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}

inline F16 max(F16 a, F16 b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}

inline F16 min(F16 a, F16 b) {
  return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}

inline F16 sqrt(F16 a) {
  return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)};
}

inline F16 fma(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

inline F16 load_first(const float* p, int n) {
  float lanes[kLanes] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(float));
  return load(lanes);
}

inline void store_first(float* p, F16 a, int n) {
  float lanes[kLanes];
  store(lanes, a);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(float));
}

inline F16 keep_first(F16 a, int n, F16 other) {
  float lanes[kLanes];
  store(lanes, other);
  store_first(lanes, a, n);
  return load(lanes);
}

inline __m256 widen(__m128i half) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

inline F16 load(const Bf16* p) {
  return {
      widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
      widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}

inline F16 load_first(const Bf16* p, int n) {
  Bf16 lanes[kLanes] = {};
  std::memcpy(lanes, p, static_cast<size_t>(n) * sizeof(Bf16));
  return load(lanes);
}

inline __m256i round_bits(__m256 a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
  const __m256 chosen =
      _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), nan);
  return _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
}

inline __m256i to_bf16(F16 a) {
  const __m256i packed = _mm256_packus_epi32(round_bits(a.lo), round_bits(a.hi));
  return _mm256_permute4x64_epi64(packed, 0xd8);
}

inline F16 from_bf16(__m256i half) {
  return {widen(_mm256_castsi256_si128(half)), widen(_mm256_extracti128_si256(half, 1))};
}

inline void store(Bf16* p, F16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bf16(a));
}

inline void store_first(Bf16* p, F16 a, int n) {
  Bf16 lanes[kLanes];
  store(lanes, a);
  std::memcpy(p, lanes, static_cast<size_t>(n) * sizeof(Bf16));
}

inline float reduce_add(F16 a) {
  const __m256 s = _mm256_add_ps(a.lo, a.hi);
  __m128 t = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  t = _mm_add_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
}

inline float reduce_max(F16 a) {
  const __m256 s = _mm256_max_ps(a.lo, a.hi);
  __m128 t = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
  t = _mm_max_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_max_ss(t, _mm_movehdup_ps(t)));
}

inline F16 where_less_equal(F16 a, F16 b, F16 x, F16 y) {
  return {
      _mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ)),
      _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ))};
}

inline F16 floor(F16 a) {
  return {_mm256_floor_ps(a.lo), _mm256_floor_ps(a.hi)};
}

inline F16 fraction(F16 x) {
  const F16 low = max(splat(-200.0F), x);  // keeps the fraction of -inf finite
  return low - floor(low);
}

inline __m256 scale_half(__m256 p, __m256 x) {
  // Two factors of 2^(k/2) each, so that results below 2^-126 become denormal, not
  // garbage.
  const __m256 k = _mm256_floor_ps(x);
  const __m256i whole = _mm256_cvtps_epi32(
      _mm256_max_ps(_mm256_min_ps(k, _mm256_set1_ps(254.0F)), _mm256_set1_ps(-252.0F)));
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i rest = _mm256_sub_epi32(whole, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const auto power = [&](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, bias), 23));
  };
  return _mm256_mul_ps(_mm256_mul_ps(p, power(half)), power(rest));
}

inline F16 scale_by_power(F16 p, F16 x) {
  return {scale_half(p.lo, x.lo), scale_half(p.hi, x.hi)};
}

inline F16 swap_halves(F16 a) {
  return {a.hi, a.lo};
}

#endif

// 2^f for f in [0, 1): polynomials whose ends are exactly 1 and 2, so neighbouring
// octaves meet. Relative error 9e-8.
inline F16 exp2_of_fraction(F16 f) {
  F16 p = splat(0.00187931767F);
  p = fma(p, f, splat(0.00899099418F));
  p = fma(p, f, splat(0.0558186804F));
  p = fma(p, f, splat(0.240159268F));
  p = fma(p, f, splat(0.693151739F));
  return fma(p, f, splat(1.0F));
}

// 2^x, relative error 9e-8; -inf gives 0, NaN stays.
inline F16 exp2(F16 x) {
  return scale_by_power(exp2_of_fraction(fraction(x)), x);
}

// 2^x for results that are rounded to bf16: relative error 3e-6.
inline F16 exp2_for_bf16(F16 x) {
  const F16 f = fraction(x);
  F16 p = splat(0.0135557394F);
  p = fma(p, f, splat(0.0520323616F));
  p = fma(p, f, splat(0.241379787F));
  p = fma(p, f, splat(0.693032112F));
  return scale_by_power(fma(p, f, splat(1.0F)), x);
}

inline constexpr float kLog2E = 1.4426950408889634F;

// e^x, relative error 1e-7: the rounding error of x log2(e) goes into the fraction.
inline F16 exp(F16 x) {
  const F16 y = max(splat(-110.0F), min(splat(90.0F), x));  // 0 and infinity beyond
  const F16 power = y * splat(kLog2E);
  const F16 error =
      fma(y, splat(1.92596299e-8F), fma(y, splat(kLog2E), splat(0.0F) - power));
  return scale_by_power(exp2_of_fraction(fraction(power) + error), power);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
