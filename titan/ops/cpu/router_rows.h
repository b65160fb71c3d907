#pragma once
// The router's kernels; one row is one token. `bf16` tells the type of the logits, else
// fp32. Scratch slot 4: a row.

#include <cstdint>

#include "titan/ops/cpu/isa.h"
#include "titan/ops/router_args.h"

namespace titan::ops::cpu {

struct RouterRows {
  const void* logits;     // [T, num_experts]
  const float* bias;      // [num_experts]; null = none
  const int64_t* chosen;  // [T, k]: given experts; null = to be chosen
  int64_t* experts;       // [T, k]
  float* weights;         // [T, k]
  int64_t num_experts;
  RouterArgs router;
  bool bf16;
};

struct RouterRowsBackward {
  const void* logits;
  const int64_t* experts;
  const float* d_weights;  // [T, k]
  void* d_logits;          // of the logits' type
  int64_t num_experts;
  RouterArgs router;
  bool bf16;
};

#define TITAN_ROUTER_ROWS(level)                                                        \
  namespace level {                                                                     \
  void route_rows(const RouterRows& args, int64_t begin, int64_t end);                  \
  void route_rows_backward(const RouterRowsBackward& args, int64_t begin, int64_t end); \
  }
TITAN_ROUTER_ROWS(avx2)
TITAN_ROUTER_ROWS(avx512)
TITAN_ROUTER_ROWS(avx512_bf16)
#undef TITAN_ROUTER_ROWS

inline void route_rows(const RouterRows& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(route_rows)(args, begin, end);
}

inline void route_rows_backward(
    const RouterRowsBackward& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(route_rows_backward)(args, begin, end);
}

}  // namespace titan::ops::cpu
