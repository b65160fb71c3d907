#pragma once
// The fused kernels of a region as plain functions, one set for each instruction set.

#include <array>
#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

inline constexpr int kMaxRegionOperands = 8;

// Element (r, c) of an operand lies at data[r / row_divisor * row_stride + c]; of a
// column operand at data[c].
struct RegionOperand {
  void* data = nullptr;
  int64_t row_stride = 0;
  int64_t row_divisor = 1;
};

struct RegionArgs {
  std::array<RegionOperand, kMaxRegionOperands> inputs;
  // Results in forward, their gradients in backward.
  std::array<RegionOperand, kMaxRegionOperands> outputs;
  // Gradients of row inputs; null data where one is not wanted. They do not overlap.
  std::array<RegionOperand, kMaxRegionOperands> d_inputs;
  const float* scalars = nullptr;
  float* row_means = nullptr;  // [rows, means]: written in forward, read in backward
  int64_t width = 0;
};

// Each call does rows [begin, end). In backward d_columns[i] is where the gradient of
// column input i, summed over those rows in order, goes (fp32 [width]), or null.
struct RegionKernels {
  using Forward = void (*)(const RegionArgs& args, int64_t begin, int64_t end);
  using Backward = void (*)(
      const RegionArgs& args, int64_t begin, int64_t end, float* const* d_columns);

  Forward forward_fp32, forward_bf16;
  Backward backward_fp32, backward_bf16;
  int means;  // row means that the chain takes
};

#define TITAN_REGION_LEVEL(level)        \
  namespace level {                      \
  template <class R>                     \
  const RegionKernels& region_kernels(); \
  }
TITAN_REGION_LEVEL(avx2)
TITAN_REGION_LEVEL(avx512)
TITAN_REGION_LEVEL(avx512_bf16)
#undef TITAN_REGION_LEVEL

// Those of region R at the level of this process. A file that includes kernel.h and is
// built by titan_kernel_sources instantiates them.
template <class R>
const RegionKernels& region_kernels() {
  return TITAN_ISA_SELECT(region_kernels<R>)();
}

}  // namespace titan::ops::cpu
