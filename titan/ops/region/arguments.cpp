#include "titan/ops/region/arguments.h"

#include <ATen/ATen.h>

namespace titan::ops {
namespace {

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

}  // namespace

cpu::RegionArgs region_args(const RegionPass& pass, std::vector<float>& scalars) {
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

bool has_bf16_rows(const RegionPass& pass) {
  return pass.tensors[pass.call.inputs[0].source].scalar_type() == at::kBFloat16;
}

}  // namespace titan::ops
