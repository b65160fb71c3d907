#include "titan/ops/region/recompute.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace titan::ops {
namespace {

// The rows that a view stands for, [rows, width]; differentiable.
Tensor rows_of(const RegionCall& call, const RegionView& view, const Tensor& tensor) {
  const int64_t rows = (call.rows + view.row_divisor - 1) / view.row_divisor;
  const Tensor some = tensor.as_strided(
      {rows, call.width}, {view.row_stride, 1}, tensor.storage_offset() + view.offset);
  return view.row_divisor == 1
             ? some
             : some.repeat_interleave(view.row_divisor, 0).narrow(0, 0, call.rows);
}

std::vector<Tensor> run_chain(
    const RegionPass& pass,
    const std::vector<Tensor>& tensors,
    const std::vector<Tensor>& columns) {
  const RegionCall& call = pass.call;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const RegionView& view = call.inputs[i];
    if (call.region->inputs[i] == region::Kind::kColumns) {
      inputs.push_back(columns[view.source].narrow(0, view.offset, call.width));
    } else {
      inputs.push_back(rows_of(call, view, tensors[view.source]).to(at::kFloat));
    }
  }
  const Tensor& first = pass.tensors.at(call.inputs[0].source);
  return call.region->plain(inputs, call.scalars, first.scalar_type());
}

}  // namespace

void plain_forward(const RegionPass& pass) {
  const std::vector<Tensor> rows = run_chain(pass, pass.tensors, pass.columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    const RegionView& view = pass.call.results[i];
    rows_of(pass.call, view, pass.results[view.source]).copy_(rows[i]);
  }
}

void plain_backward(const RegionPass& pass) {
  const RegionCall& call = pass.call;
  std::vector<Tensor> leaves;
  std::vector<Tensor*> to;
  const auto leaf_of = [&](const Tensor& from, Tensor& d) {
    Tensor leaf = from.detach();
    if (d.defined()) {
      leaf.set_requires_grad(true);
      leaves.push_back(leaf);
      to.push_back(&d);
    }
    return leaf;
  };
  std::vector<Tensor> tensors;
  std::vector<Tensor> columns;
  for (size_t i = 0; i < pass.tensors.size(); ++i) {
    tensors.push_back(leaf_of(pass.tensors[i], pass.d_tensors[i]));
  }
  for (size_t i = 0; i < pass.columns.size(); ++i) {
    columns.push_back(leaf_of(pass.columns[i], pass.d_columns[i]));
  }
  const at::AutoGradMode record(true);
  const std::vector<Tensor> rows = run_chain(pass, tensors, columns);
  std::vector<Tensor> d_rows;
  for (const RegionView& view : call.results) {
    d_rows.push_back(rows_of(call, view, pass.results[view.source]));
  }
  const auto grads = torch::autograd::grad(rows, leaves, d_rows);
  for (size_t i = 0; i < grads.size(); ++i) {
    to[i]->copy_(grads[i]);
  }
}

}  // namespace titan::ops
