#pragma once
// Kernels whose result for a row (or element) depends on that row alone: norm, rope,
// SwiGLU, and the optimizer's passes. Each call does one thread's share. `bf16` tells the
// type of the void pointers, else fp32; arithmetic is fp32.

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

struct RmsNorm {
  const void* x;  // [rows, width]
  const float* weight;
  void* y;
  float* inverse_rms;  // [rows]
  int64_t width;
  float eps;
  bool bf16;
};

struct RmsNormBackward {
  const void* x;
  const void* dy;
  const float* weight;
  const float* inverse_rms;
  void* dx;  // null where it is not wanted
  int64_t width;
  bool bf16;
};

struct Rope {
  const void* x;        // [T, heads, width]
  const float* cosine;  // [T, width / 2]
  const float* sine;
  void* y;
  int64_t heads, width;
  bool inverse;  // turns the other way
  bool bf16;
};

struct Swiglu {
  const void* gate;
  const void* up;
  void* y;
  bool bf16;
};

struct SwigluBackward {
  const void* gate;
  const void* up;
  const void* dy;
  void* d_gate;
  void* d_up;
  bool bf16;
};

// Coefficients of one AdamW update, made in double.
struct AdamW {
  float* parameter;
  const float* gradient;
  float* first_moment;
  float* second_moment;
  float gradient_scale;
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float decay;               // lr * weight_decay
  float step_size;           // lr / (1 - beta1^step)
  float inverse_root_bias2;  // 1 / sqrt(1 - beta2^step)
  float eps;
};

#define TITAN_ROWS(level)                                                                \
  namespace level {                                                                      \
  void rms_norm(const RmsNorm& args, int64_t begin, int64_t end);                        \
  /* d_weight: fp32 [width], the sum over rows [begin, end) of dy * x / rms, or null. */ \
  void rms_norm_backward(                                                                \
      const RmsNormBackward& args, int64_t begin, int64_t end, float* d_weight);         \
  void rope(const Rope& args, int64_t begin, int64_t end);                               \
  void swiglu(const Swiglu& args, int64_t begin, int64_t end);                           \
  void swiglu_backward(const SwigluBackward& args, int64_t begin, int64_t end);          \
  void adamw(const AdamW& args, int64_t begin, int64_t end);                             \
  double sum_of_squares(const float* x, int64_t count);                                  \
  }
TITAN_ROWS(avx2)
TITAN_ROWS(avx512)
TITAN_ROWS(avx512_bf16)
#undef TITAN_ROWS

// At the level of this process.
inline void rms_norm(const RmsNorm& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(rms_norm)(args, begin, end);
}

inline void rms_norm_backward(
    const RmsNormBackward& args, int64_t begin, int64_t end, float* d_weight) {
  TITAN_ISA_SELECT(rms_norm_backward)(args, begin, end, d_weight);
}

inline void rope(const Rope& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(rope)(args, begin, end);
}

inline void swiglu(const Swiglu& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(swiglu)(args, begin, end);
}

inline void swiglu_backward(const SwigluBackward& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(swiglu_backward)(args, begin, end);
}

inline void adamw(const AdamW& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(adamw)(args, begin, end);
}

inline double sum_of_squares(const float* x, int64_t count) {
  return TITAN_ISA_SELECT(sum_of_squares)(x, count);
}

}  // namespace titan::ops::cpu
