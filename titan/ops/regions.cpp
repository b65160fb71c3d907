#include "titan/ops/regions.h"

#include "titan/ops/region/describe.h"

namespace titan::ops {

template <class R>
const Region& region_of() {
  static const Region kRegion = describe_region<R>();
  return kRegion;
}

template const Region& region_of<region::Swiglu>();
template const Region& region_of<region::Geglu>();
template const Region& region_of<region::ClippedSwiglu>();
template const Region& region_of<region::SoftCap>();
template const Region& region_of<region::RmsNorm>();
template const Region& region_of<region::AddRmsNorm>();
template const Region& region_of<region::QkNormRope>();

}  // namespace titan::ops
