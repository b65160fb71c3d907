#include "titan/base/error.h"
#include "titan/ops/cuda/region_kernels.h"

namespace titan::ops::cuda {

void fail_launch(std::string_view region, cudaError_t error) {
  fail<EnvironmentError>(
      "the CUDA kernel of region {} failed: {}", region, cudaGetErrorString(error));
}

}  // namespace titan::ops::cuda
