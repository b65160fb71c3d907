#pragma once
// Kernels whose result for a row (or element) depends on that row alone: rope and the
// optimizer's passes. Each call does one thread's share. `bf16` tells the
// type of the void pointers, else fp32; arithmetic is fp32.

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

struct Rope {
  const void* x;        // [T, heads, width]
  const float* cosine;  // [T, width / 2]
  const float* sine;
  void* y;
  int64_t heads, width;
  bool inverse;  // turns the other way
  bool bf16;
};

// Coefficients of one AdamW update, made in double.
struct AdamW {
  float* parameter;
  const float* gradient;
  void* first_moment;
  void* second_moment;
  bool bf16_moments;
  float gradient_scale;
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float decay;               // lr * weight_decay
  float step_size;           // lr / (1 - beta1^step)
  float inverse_root_bias2;  // 1 / sqrt(1 - beta2^step)
  float eps;
};

#define TITAN_ROWS(level)                                    \
  namespace level {                                          \
  void rope(const Rope& args, int64_t begin, int64_t end);   \
  void adamw(const AdamW& args, int64_t begin, int64_t end); \
  double sum_of_squares(const float* x, int64_t count);      \
  }
TITAN_ROWS(avx2)
TITAN_ROWS(avx512)
TITAN_ROWS(avx512_bf16)
#undef TITAN_ROWS

// At the level of this process.
inline void rope(const Rope& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(rope)(args, begin, end);
}

inline void adamw(const AdamW& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(adamw)(args, begin, end);
}

inline double sum_of_squares(const float* x, int64_t count) {
  return TITAN_ISA_SELECT(sum_of_squares)(x, count);
}

}  // namespace titan::ops::cpu
