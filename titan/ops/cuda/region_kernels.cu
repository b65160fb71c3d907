#include "titan/ops/cuda/region_kernel.cuh"
#include "titan/ops/regions.h"

namespace titan::ops::cuda {

template const RegionKernels& region_kernels<region::Swiglu>();
template const RegionKernels& region_kernels<region::Geglu>();
template const RegionKernels& region_kernels<region::ClippedSwiglu>();
template const RegionKernels& region_kernels<region::SoftCap>();
template const RegionKernels& region_kernels<region::RmsNorm>();
template const RegionKernels& region_kernels<region::AddRmsNorm>();
template const RegionKernels& region_kernels<region::QkNormRope>();

}  // namespace titan::ops::cuda
