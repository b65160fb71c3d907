#pragma once
// Kernels of a mixture of experts that move and add rows. Each call does one thread's
// share. `bf16` tells the type of the void pointers, else fp32; arithmetic is fp32.

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// out[t] = sum over slots j = 0, 1, ... of weights[t, j] y[rows[t, j]], rounded once.
struct CombineRows {
  const void* y;         // [R, width]
  const int64_t* rows;   // [T, slots]
  const float* weights;  // [T, slots]; null = all 1
  void* out;             // [T, width]
  int64_t slots, width;
  bool bf16;
};

// d y[rows[t, j]] = weights[t, j] d out[t], d weights[t, j] = d out[t] . y[rows[t, j]].
struct CombineRowsBackward {
  const void* y;
  const int64_t* rows;
  const float* weights;
  const void* d_out;
  void* d_y;
  float* d_weights;
  int64_t slots, width;
  bool bf16;
};

// out[r] = y[r] + bias[group].
struct GroupBias {
  const void* y;
  const void* bias;  // [groups, width]
  void* out;
  int64_t width;
  bool bf16;
};

// sums[group] = sum of rows of x in their order.
struct RowSums {
  const void* x;
  float* sums;  // [groups, width]
  int64_t width;
  bool bf16;
};

#define TITAN_MOE_ROWS(level)                                                        \
  namespace level {                                                                  \
  void combine_rows(const CombineRows& args, int64_t begin, int64_t end);            \
  void combine_rows_backward(                                                        \
      const CombineRowsBackward& args, int64_t begin, int64_t end);                  \
  void group_bias(const GroupBias& args, int64_t group, int64_t begin, int64_t end); \
  void sum_rows(const RowSums& args, int64_t group, int64_t begin, int64_t end);     \
  }
TITAN_MOE_ROWS(avx2)
TITAN_MOE_ROWS(avx512)
TITAN_MOE_ROWS(avx512_bf16)
#undef TITAN_MOE_ROWS

// Tokens [begin, end).
inline void combine_rows(const CombineRows& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(combine_rows)(args, begin, end);
}

inline void combine_rows_backward(
    const CombineRowsBackward& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(combine_rows_backward)(args, begin, end);
}

// Rows [begin, end) of one group.
inline void group_bias(const GroupBias& args, int64_t group, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(group_bias)(args, group, begin, end);
}

inline void sum_rows(const RowSums& args, int64_t group, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(sum_rows)(args, group, begin, end);
}

}  // namespace titan::ops::cpu
