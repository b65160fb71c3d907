#pragma once
// Regions: named point-wise chains over rows (titan/ops/regions.h) that run as one fused
// kernel each way, in plain form, or by a replacement, as compile.regions chooses. The
// chain is written once; value, gradient and every implementation come from it.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/registry.h"
#include "titan/ops/context.h"
#include "titan/ops/region/expression.h"
#include "titan/ops/weight.h"

namespace titan::ops {

namespace cpu {
struct RegionKernels;
}

namespace cuda {
struct RegionKernels;
}

// What is known of a region besides its name.
struct Region {
  std::string_view name;
  std::span<const region::Kind> inputs;
  int num_results;
  const cpu::RegionKernels* kernels;        // of this process's instruction set
  const cuda::RegionKernels* cuda_kernels;  // null: the plain form runs on devices
  // The chain on tensors; see region::run_plain.
  std::vector<Tensor> (*plain)(
      const std::vector<Tensor>& inputs,
      const std::vector<double>& scalars,
      at::ScalarType storage);
};

// The description of one of the regions in titan/ops/regions.h. A region of a plug-in
// describes itself with describe_region in titan/ops/region/describe.h.
template <class R>
const Region& region_of();

// An operand of a call as rows [rows, width]: element (r, c) lies at
// offset + r / row_divisor * row_stride + c of tensor (or, for column inputs, weight)
// number `source` of the call. Columns use source and offset only.
struct RegionView {
  size_t source = 0;
  int64_t offset = 0;
  int64_t row_stride = 0;
  int64_t row_divisor = 1;
};

// One application of a region to tensors. Views of one tensor do not overlap and together
// cover it.
struct RegionCall {
  const Region* region = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
  std::vector<RegionView> inputs;
  std::vector<RegionView> results;
  std::vector<std::vector<int64_t>> result_sizes;  // of the tensors that results view
  std::vector<double> scalars;

  // Inputs and one result that are whole contiguous tensors of `rows` rows.
  [[nodiscard]] static RegionCall over_rows(
      const Region& region, const Tensor& rows, std::vector<double> scalars = {});
};

// The tensors of one pass of an implementation, contiguous. Row tensors have the region's
// dtype (fp32 or bf16), tables and columns are fp32.
struct RegionPass {
  const RegionCall& call;
  const std::vector<Tensor>& tensors;  // rows and tables
  const std::vector<Tensor>& columns;  // values of the weights
  std::vector<Tensor>& results;        // forward: to be filled; backward: their gradients
  Tensor& row_means;                   // fp32 [rows, n]: written forward, read backward
  std::vector<Tensor>& d_tensors;      // backward: to be filled; undefined: not wanted
  std::vector<Tensor>& d_columns;      // backward: to be filled, fp32; undefined likewise
};

// A replacement of the fused kernels; rows must not depend on each other.
struct RegionImplementation {
  std::string region;
  std::string description;
  std::function<void(const RegionPass&)> forward;
  std::function<void(const RegionPass&)> backward;
};

// Registered replacements by name; the names "fused" and "plain" are taken.
Registry<RegionImplementation>& region_implementations();

// Which implementation each region runs with; immutable. `choices` are of the form
// GLOB or GLOB=IMPLEMENTATION (fused, plain or a registered name; alone: fused), the last
// match decides; a region that nothing matches runs in plain form. ConfigError: unknown
// implementation, or one of another region.
class RegionTable {
 public:
  explicit RegionTable(const std::vector<std::string>& choices);

  // Null: the fused kernels.
  [[nodiscard]] const RegionImplementation* find(std::string_view region) const;

 private:
  std::vector<std::pair<std::string, const RegionImplementation*>> choices_;
};

// Runs the call; differentiable in row tensors and weights. tensors: contiguous, row
// tensors of one dtype. REQUIRES: context outlives the backward pass.
std::vector<Tensor> run_region(
    const RegionCall& call,
    const std::vector<Tensor>& tensors,
    const std::vector<Weight>& weights,
    OpContext& context);

}  // namespace titan::ops
