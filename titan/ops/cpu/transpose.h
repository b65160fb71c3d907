// Transposes of 16 x 16 blocks of 32-bit units in registers. Included only by files that
// are compiled once per instruction set (see vec.h).
#pragma once

#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

#if defined(__AVX512F__)

inline void transpose16(F16 (&rows)[kLanes]) {
  __m512i r[kLanes];
  __m512i t[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    r[i] = _mm512_castps_si512(rows[i].v);
  }
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  // r[4 i + j]: column 4 l + j of rows 4 i .. 4 i + 3 in its 128-bit lane l.
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  // What remains is a 4 x 4 transpose of 128-bit lanes for each j.
  for (int j = 0; j < 4; ++j) {
    const __m512i even_low = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    t[4 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    t[12 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
  for (int i = 0; i < kLanes; ++i) {
    rows[i].v = _mm512_castsi512_ps(t[i]);
  }
}

#else  // AVX2: four 8 x 8 blocks

inline void transpose8(__m256 (&r)[8]) {
  __m256 t[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
    t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
  }
  for (int i = 0; i < 8; ++i) {
    r[i] = t[i];
  }
}

inline void transpose16(F16 (&rows)[kLanes]) {
  __m256 top_left[8];
  __m256 top_right[8];
  __m256 bottom_left[8];
  __m256 bottom_right[8];
  for (int i = 0; i < 8; ++i) {
    top_left[i] = rows[i].lo;
    top_right[i] = rows[i].hi;
    bottom_left[i] = rows[8 + i].lo;
    bottom_right[i] = rows[8 + i].hi;
  }
  transpose8(top_left);
  transpose8(top_right);
  transpose8(bottom_left);
  transpose8(bottom_right);
  for (int i = 0; i < 8; ++i) {
    rows[i] = {top_left[i], bottom_left[i]};
    rows[8 + i] = {top_right[i], bottom_right[i]};
  }
}

#endif

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
