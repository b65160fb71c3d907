#pragma once
// Rows of the causal convolution of four taps a channel with SiLU
// (ops/short_convolution.h).

#include <cstdint>

#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// The rows of one sequence, fp32 or bf16 as all data of a call, and what they meet.
struct ConvolutionRows {
  const void* x;
  int64_t stride;      // elements from row to row of x
  const void* before;  // [3, channels], the rows in front of the first; null: zeros
  int64_t rows, channels;
  const float* taps;  // [4, channels]
  bool bf16;
};

struct Convolution {
  ConvolutionRows in;
  void* y;  // [rows, channels] contiguous
};

struct ConvolutionBackward {
  ConvolutionRows in;
  const void* dy;
  int64_t dy_stride;
  void* dx;       // [rows, channels] contiguous
  float* d_taps;  // [4, channels], added to
};

// A block of rows and channels; channels begin at a multiple of 16.
struct ConvolutionBlock {
  int64_t row_begin, row_end;
  int64_t channel_begin, channel_end;
};

#define TITAN_SHORT_CONVOLUTION(level)                                   \
  namespace level {                                                      \
  void convolve(const Convolution& args, const ConvolutionBlock& block); \
  void convolve_backward(                                                \
      const ConvolutionBackward& args, const ConvolutionBlock& block);   \
  }
TITAN_SHORT_CONVOLUTION(avx2)
TITAN_SHORT_CONVOLUTION(avx512)
TITAN_SHORT_CONVOLUTION(avx512_bf16)
#undef TITAN_SHORT_CONVOLUTION

// At the level of this process.
inline void convolve(const Convolution& args, const ConvolutionBlock& block) {
  TITAN_ISA_SELECT(convolve)(args, block);
}

inline void convolve_backward(
    const ConvolutionBackward& args, const ConvolutionBlock& block) {
  TITAN_ISA_SELECT(convolve_backward)(args, block);
}

}  // namespace titan::ops::cpu
