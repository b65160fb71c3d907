#pragma once
// Makes the description of a region from its chain.

#include <tuple>

#include "titan/ops/region.h"
#include "titan/ops/region/kernels.h"
#include "titan/ops/region/plain.h"
#ifdef TITAN_CUDA
#include "titan/ops/cuda/region_kernels.h"
#endif

namespace titan::ops {

template <class R>
Region describe_region() {
  return {
      .name = R::kName,
      .inputs = R::kInputs,
      .num_results = static_cast<int>(std::tuple_size_v<region::Outputs<R>>),
      .kernels = &cpu::region_kernels<R>(),
#ifdef TITAN_CUDA
      .cuda_kernels = &cuda::region_kernels<R>(),
#else
      .cuda_kernels = nullptr,
#endif
      .plain = &region::run_plain<R>};
}

}  // namespace titan::ops
