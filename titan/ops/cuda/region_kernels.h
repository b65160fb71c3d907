#pragma once
// The fused kernels of a region on a CUDA device. Rows are independent of each other, and
// sums are formed in one fixed order.

#include <string_view>

#include <cuda_runtime_api.h>

#include "titan/ops/region/kernels.h"

namespace titan::ops::cuda {

// Pointers of the arguments are the device's, but for `scalars`. Kernels are queued on
// the stream; a launch that fails throws EnvironmentError.
struct RegionKernels {
  using Forward =
      void (*)(const cpu::RegionArgs& args, int64_t rows, cudaStream_t stream);
  // Column gradients are summed within blocks of block_rows rows: d_columns[i] is fp32
  // [blocks, width] or null.
  using Backward = void (*)(
      const cpu::RegionArgs& args,
      int64_t rows,
      int64_t block_rows,
      float* const* d_columns,
      cudaStream_t stream);

  Forward forward_fp32, forward_bf16;
  Backward backward_fp32, backward_bf16;
};

template <class R>
const RegionKernels& region_kernels();

// Throws EnvironmentError. A function of its own: the device compiler does not take fmt.
[[noreturn]] void fail_launch(std::string_view region, cudaError_t error);

}  // namespace titan::ops::cuda
