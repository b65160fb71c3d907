#include "titan/ops/glu.h"

#include <ATen/ATen.h>

#include "titan/ops/region.h"
#include "titan/ops/regions.h"

namespace titan::ops {
namespace {

Tensor glu(
    const Region& region,
    const Tensor& gate,
    const Tensor& up,
    std::vector<double> scalars,
    OpContext& context) {
  TORCH_CHECK(
      up.scalar_type() == gate.scalar_type() && up.sizes() == gate.sizes(),
      "[",
      region.name,
      "] expected gate and up alike, got ",
      gate.scalar_type(),
      " ",
      gate.sizes(),
      " and ",
      up.scalar_type(),
      " ",
      up.sizes());
  const RegionCall call = RegionCall::over_rows(region, gate, std::move(scalars));
  return run_region(call, {gate, up}, {}, context).at(0);
}

}  // namespace

Tensor swiglu(const Tensor& gate, const Tensor& up, OpContext& context) {
  return glu(region_of<region::Swiglu>(), gate, up, {}, context);
}

Tensor geglu(const Tensor& gate, const Tensor& up, OpContext& context) {
  return glu(region_of<region::Geglu>(), gate, up, {}, context);
}

Tensor clipped_swiglu(
    const Tensor& gate,
    const Tensor& up,
    double alpha,
    double limit,
    OpContext& context) {
  return glu(region_of<region::ClippedSwiglu>(), gate, up, {alpha, limit}, context);
}

}  // namespace titan::ops
