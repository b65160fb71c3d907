#include "titan/ops/norm.h"

#include <ATen/ATen.h>

#include "titan/ops/region.h"
#include "titan/ops/regions.h"

namespace titan::ops {
namespace {

void check(const Tensor& x, const Weight& weight) {
  TORCH_CHECK(
      x.dim() >= 1 && x.size(-1) > 0 && weight.sizes() == x.sizes().slice(x.dim() - 1),
      "[rms_norm] expected a weight of the input's last dimension, got ",
      weight.sizes(),
      " for ",
      x.sizes());
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Weight& weight, double eps, OpContext& context) {
  check(x, weight);
  const auto call = RegionCall::over_rows(region_of<region::RmsNorm>(), x, {eps});
  return run_region(call, {x}, {weight}, context).at(0);
}

std::pair<Tensor, Tensor> add_rms_norm(
    const Tensor& residual,
    const Tensor& update,
    const Weight& weight,
    double eps,
    OpContext& context) {
  check(residual, weight);
  TORCH_CHECK(
      update.sizes() == residual.sizes(),
      "[add_rms_norm] expected two tensors alike, got ",
      residual.sizes(),
      " and ",
      update.sizes());
  const Region& region = region_of<region::AddRmsNorm>();
  const auto call = RegionCall::over_rows(region, residual, {eps});
  const auto results = run_region(call, {residual, update}, {weight}, context);
  return {results.at(0), results.at(1)};
}

Tensor qk_norm_rope(
    const Tensor& x,
    const Weight& weight,
    double eps,
    const std::pair<Tensor, Tensor>& cosine_and_sine,
    OpContext& context) {
  check(x, weight);
  const auto& [cosine, sine] = cosine_and_sine;
  TORCH_CHECK(
      x.dim() == 3 && x.size(2) % 2 == 0 && cosine.dim() == 2 &&
          cosine.size(0) == x.size(0) && 2 * cosine.size(1) == x.size(2) &&
          sine.sizes() == cosine.sizes(),
      "[qk_norm_rope] expected [T, H, D] with even D and tables [T, D/2], got ",
      x.sizes(),
      " and ",
      cosine.sizes());
  const int64_t heads = x.size(1);
  const int64_t half = x.size(2) / 2;
  // A row is one head, seen as its two halves.
  const RegionCall call{
      .region = &region_of<region::QkNormRope>(),
      .rows = x.size(0) * heads,
      .width = half,
      .inputs =
          {{.source = 0, .row_stride = 2 * half},
           {.source = 0, .offset = half, .row_stride = 2 * half},
           {.source = 0},
           {.source = 0, .offset = half},
           {.source = 1, .row_stride = half, .row_divisor = heads},
           {.source = 2, .row_stride = half, .row_divisor = heads}},
      .results =
          {{.source = 0, .row_stride = 2 * half},
           {.source = 0, .offset = half, .row_stride = 2 * half}},
      .result_sizes = {x.sizes().vec()},
      .scalars = {eps}};
  return run_region(call, {x, cosine, sine}, {weight}, context).at(0);
}

Tensor rms_norm_plain(const Tensor& x, const Tensor& weight, double eps) {
  const auto compute = x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type();
  const Tensor wide = x.to(compute);
  const Tensor normed = wide * at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return weight.to(x.scalar_type()) * normed.to(x.scalar_type());
}

}  // namespace titan::ops
