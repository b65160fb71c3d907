#include "titan/ops/region/fused.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/region/arguments.h"
#include "titan/ops/region/kernels.h"
#ifdef TITAN_CUDA
#include "titan/ops/cuda/fused_region.h"
#endif

namespace titan::ops {
namespace {

// The gradient of a column is summed in fp32 within blocks of this many rows, and over
// the blocks in order in double.
constexpr int64_t kBlockRows = 32;

int64_t grain_of(int64_t elements) {
  return std::max<int64_t>(1, at::internal::GRAIN_SIZE / std::max<int64_t>(1, elements));
}

// to[c] = sum over b of partial[b, c].
void add_blocks(const Tensor& partial, float* to) {
  const int64_t blocks = partial.size(0);
  const int64_t width = partial.size(1);
  const auto* from = partial.const_data_ptr<float>();
  const int64_t grain = std::max<int64_t>(64, grain_of(blocks + 1));
  at::parallel_for(0, width, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(end - begin));
    for (int64_t b = 0; b < blocks; ++b) {
      for (int64_t c = begin; c < end; ++c) {
        sums[c - begin] += from[b * width + c];
      }
    }
    std::copy(sums.begin(), sums.end(), to + begin);
  });
}

}  // namespace

void fused_forward(const RegionPass& pass) {
#ifdef TITAN_CUDA
  if (pass.tensors[0].is_cuda()) {
    cuda::fused_forward(pass);
    return;
  }
#endif
  const RegionCall& call = pass.call;
  const cpu::RegionKernels& kernels = *call.region->kernels;
  std::vector<float> scalars;
  cpu::RegionArgs args = region_args(pass, scalars);
  if (kernels.means > 0) {
    pass.row_means = at::empty({call.rows, kernels.means}, at::kFloat);
    args.row_means = pass.row_means.mutable_data_ptr<float>();
  }
  const auto run = has_bf16_rows(pass) ? kernels.forward_bf16 : kernels.forward_fp32;
  at::parallel_for(0, call.rows, grain_of(call.width), [&](int64_t begin, int64_t end) {
    run(args, begin, end);
  });
}

void fused_backward(const RegionPass& pass) {
#ifdef TITAN_CUDA
  if (pass.tensors[0].is_cuda()) {
    cuda::fused_backward(pass);
    return;
  }
#endif
  const RegionCall& call = pass.call;
  const cpu::RegionKernels& kernels = *call.region->kernels;
  std::vector<float> scalars;
  cpu::RegionArgs args = region_args(pass, scalars);
  args.row_means = pass.row_means.mutable_data_ptr<float>();
  const int64_t blocks = (call.rows + kBlockRows - 1) / kBlockRows;
  std::vector<Tensor> partial(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.region->inputs[i] == region::Kind::kColumns &&
        pass.d_columns[call.inputs[i].source].defined()) {
      partial[i] = at::empty({blocks, call.width}, at::kFloat);
    }
  }
  const auto run = has_bf16_rows(pass) ? kernels.backward_bf16 : kernels.backward_fp32;
  const int64_t grain = grain_of(kBlockRows * call.width);
  at::parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      std::array<float*, cpu::kMaxRegionOperands> d_columns{};
      for (size_t i = 0; i < partial.size(); ++i) {
        if (partial[i].defined()) {
          d_columns[i] = partial[i].mutable_data_ptr<float>() + b * call.width;
        }
      }
      const int64_t last = std::min(call.rows, (b + 1) * kBlockRows);
      run(args, b * kBlockRows, last, d_columns.data());
    }
  });
  for (size_t i = 0; i < partial.size(); ++i) {
    if (partial[i].defined()) {
      const RegionView& view = call.inputs[i];
      Tensor& to = pass.d_columns[view.source];
      add_blocks(partial[i], to.mutable_data_ptr<float>() + view.offset);
    }
  }
}

}  // namespace titan::ops
