#include "titan/ops/cuda/fused_region.h"

#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

#include "titan/ops/cuda/region_kernels.h"
#include "titan/ops/region/arguments.h"

namespace titan::ops::cuda {
namespace {

constexpr int64_t kBlockRows = 32;

at::TensorOptions fp32_like(const Tensor& t) {
  return t.options().dtype(at::kFloat);
}

}  // namespace

void fused_forward(const RegionPass& pass) {
  const RegionCall& call = pass.call;
  std::vector<float> scalars;
  cpu::RegionArgs args = region_args(pass, scalars);
  if (call.region->kernels->means > 0) {
    pass.row_means =
        at::empty({call.rows, call.region->kernels->means}, fp32_like(pass.tensors[0]));
    args.row_means = pass.row_means.mutable_data_ptr<float>();
  }
  const RegionKernels& kernels = *call.region->cuda_kernels;
  const auto run = has_bf16_rows(pass) ? kernels.forward_bf16 : kernels.forward_fp32;
  run(args, call.rows, at::cuda::getCurrentCUDAStream());
}

void fused_backward(const RegionPass& pass) {
  const RegionCall& call = pass.call;
  std::vector<float> scalars;
  cpu::RegionArgs args = region_args(pass, scalars);
  args.row_means = pass.row_means.mutable_data_ptr<float>();
  const int64_t blocks = (call.rows + kBlockRows - 1) / kBlockRows;
  std::array<Tensor, cpu::kMaxRegionOperands> partial;
  std::array<float*, cpu::kMaxRegionOperands> d_columns{};
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.region->inputs[i] == region::Kind::kColumns &&
        pass.d_columns[call.inputs[i].source].defined()) {
      partial[i] = at::zeros({blocks, call.width}, fp32_like(pass.tensors[0]));
      d_columns[i] = partial[i].mutable_data_ptr<float>();
    }
  }
  const RegionKernels& kernels = *call.region->cuda_kernels;
  const auto run = has_bf16_rows(pass) ? kernels.backward_bf16 : kernels.backward_fp32;
  run(args, call.rows, kBlockRows, d_columns.data(), at::cuda::getCurrentCUDAStream());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (partial[i].defined()) {
      const RegionView& view = call.inputs[i];
      pass.d_columns[view.source]
          .narrow(0, view.offset, call.width)
          .copy_(partial[i].sum(0, false, at::kDouble));
    }
  }
}

}  // namespace titan::ops::cuda
