#include "examples/reglu2_plugin/reglu2_region.h"

#include "titan/ops/region/kernel.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

template const RegionKernels& region_kernels<reglu2::Reglu2>();

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
