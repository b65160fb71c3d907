#include "titan/ops/region/fused.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/region/kernels.h"

namespace titan::ops {
namespace {

// The gradient of a column is summed in fp32 within blocks of this many rows, and over
// the blocks in order in double.
constexpr int64_t kBlockRows = 32;

cpu::RegionOperand operand_of(const RegionView& view, const Tensor& tensor) {
  if (!tensor.defined()) {
    return {};
  }
  auto* data = static_cast<char*>(tensor.mutable_data_ptr());
  return {
      .data = data + view.offset * tensor.element_size(),
      .row_stride = view.row_stride,
      .row_divisor = view.row_divisor};
}

// `scalars` is filled and must outlive the result.
cpu::RegionArgs args_of(const RegionPass& pass, std::vector<float>& scalars) {
  const RegionCall& call = pass.call;
  TORCH_CHECK(
      call.inputs.size() <= cpu::kMaxRegionOperands &&
          call.results.size() <= cpu::kMaxRegionOperands,
      "[region] ",
      call.region->name,
      " has more than ",
      cpu::kMaxRegionOperands,
      " operands");
  scalars.assign(call.scalars.begin(), call.scalars.end());
  cpu::RegionArgs args;
  args.width = call.width;
  args.scalars = scalars.data();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const RegionView& view = call.inputs[i];
    const bool column = call.region->inputs[i] == region::Kind::kColumns;
    const Tensor& from = column ? pass.columns[view.source] : pass.tensors[view.source];
    args.inputs[i] = operand_of(view, from);
    if (!column && !pass.d_tensors.empty()) {
      args.d_inputs[i] = operand_of(view, pass.d_tensors[view.source]);
    }
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    const RegionView& view = call.results[i];
    args.outputs[i] = operand_of(view, pass.results[view.source]);
  }
  return args;
}

bool narrow(const RegionPass& pass) {
  return pass.tensors[pass.call.inputs[0].source].scalar_type() == at::kBFloat16;
}

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
  const RegionCall& call = pass.call;
  const cpu::RegionKernels& kernels = *call.region->kernels;
  std::vector<float> scalars;
  cpu::RegionArgs args = args_of(pass, scalars);
  if (kernels.means > 0) {
    pass.row_means = at::empty({call.rows, kernels.means}, at::kFloat);
    args.row_means = pass.row_means.mutable_data_ptr<float>();
  }
  const auto run = narrow(pass) ? kernels.forward_bf16 : kernels.forward_fp32;
  at::parallel_for(0, call.rows, grain_of(call.width), [&](int64_t begin, int64_t end) {
    run(args, begin, end);
  });
}

void fused_backward(const RegionPass& pass) {
  const RegionCall& call = pass.call;
  const cpu::RegionKernels& kernels = *call.region->kernels;
  std::vector<float> scalars;
  cpu::RegionArgs args = args_of(pass, scalars);
  args.row_means = pass.row_means.mutable_data_ptr<float>();
  const int64_t blocks = (call.rows + kBlockRows - 1) / kBlockRows;
  std::vector<Tensor> partial(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.region->inputs[i] == region::Kind::kColumns &&
        pass.d_columns[call.inputs[i].source].defined()) {
      partial[i] = at::empty({blocks, call.width}, at::kFloat);
    }
  }
  const auto run = narrow(pass) ? kernels.backward_bf16 : kernels.backward_fp32;
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
