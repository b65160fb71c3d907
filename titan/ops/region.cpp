#include "titan/ops/region.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/base/nearest.h"
#include "titan/ops/region/fused.h"
#include "titan/ops/region/recompute.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

const RegionImplementation& fused_implementation() {
  static const RegionImplementation kFused{
      "", "kernels made from the chain", &fused_forward, &fused_backward};
  return kFused;
}

const RegionImplementation& plain_implementation() {
  static const RegionImplementation kPlain{
      "", "the chain by library calls", &plain_forward, &plain_backward};
  return kPlain;
}

// What the Function keeps from forward to backward besides tensors.
struct SavedCall : torch::CustomClassHolder {
  SavedCall(RegionCall c, std::vector<WeightHandle> w, const RegionImplementation* i)
      : call(std::move(c)), weights(std::move(w)), implementation(i) {}

  RegionCall call;
  std::vector<WeightHandle> weights;
  const RegionImplementation* implementation;
};

std::vector<Tensor> values_of(const std::vector<WeightHandle>& weights) {
  std::vector<Tensor> values;
  for (const WeightHandle& weight : weights) {
    // fp32, whatever the compute dtype: one row beside many.
    values.push_back(weight.value().to(at::kFloat).contiguous());
  }
  return values;
}

at::ScalarType dtype_of(const RegionCall& call, const std::vector<Tensor>& tensors) {
  return tensors.at(call.inputs.at(0).source).scalar_type();
}

struct RegionFunction : torch::autograd::Function<RegionFunction> {
  // `stubs` only tie the weights to the graph.
  static variable_list forward(
      AutogradContext* ctx,
      at::TensorList tensors,
      at::TensorList /*stubs*/,
      const c10::intrusive_ptr<SavedCall>& saved) {
    const RegionCall& call = saved->call;
    const std::vector<Tensor> inputs = tensors.vec();
    const std::vector<Tensor> columns = values_of(saved->weights);
    const auto options = inputs.at(0).options();
    variable_list results;
    for (const std::vector<int64_t>& sizes : call.result_sizes) {
      results.push_back(at::empty(sizes, options.dtype(dtype_of(call, inputs))));
    }
    Tensor row_means;
    std::vector<Tensor> none;
    saved->implementation->forward(
        {call, inputs, columns, results, row_means, none, none});
    variable_list kept = inputs;
    kept.push_back(row_means.defined() ? row_means : at::empty({0}));
    ctx->save_for_backward(kept);
    ctx->saved_data["call"] = c10::IValue::make_capsule(saved);
    return results;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto& saved =
        static_cast<const SavedCall&>(*ctx->saved_data.at("call").toCapsule());
    variable_list inputs = ctx->get_saved_variables();
    Tensor row_means = inputs.back();
    inputs.pop_back();
    const std::vector<Tensor> columns = values_of(saved.weights);
    for (Tensor& grad : grads) {
      grad = grad.contiguous();
    }
    variable_list d_inputs(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (ctx->needs_input_grad(i)) {
        d_inputs[i] = at::empty_like(inputs[i]);
      }
    }
    std::vector<Tensor> d_columns(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      if (ctx->needs_input_grad(inputs.size() + i)) {
        d_columns[i] = at::empty_like(columns[i]);
      }
    }
    saved.implementation->backward(
        {saved.call, inputs, columns, grads, row_means, d_inputs, d_columns});
    for (size_t i = 0; i < columns.size(); ++i) {
      if (d_columns[i].defined()) {
        saved.weights[i].source->add_grad(saved.weights[i].index, d_columns[i]);
      }
    }
    d_inputs.resize(inputs.size() + columns.size() + 1);
    return d_inputs;
  }
};

void check(
    const RegionCall& call,
    const std::vector<Tensor>& tensors,
    const std::vector<Weight>& weights) {
  const Region& region = *call.region;
  TORCH_CHECK(
      call.inputs.size() == region.inputs.size() &&
          static_cast<int>(call.results.size()) == region.num_results,
      "[region] ",
      region.name,
      " takes ",
      region.inputs.size(),
      " inputs and gives ",
      region.num_results,
      " results");
  const at::ScalarType dtype = dtype_of(call, tensors);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const RegionView& view = call.inputs[i];
    if (region.inputs[i] == region::Kind::kColumns) {
      TORCH_CHECK(
          weights.at(view.source).stub.numel() >= view.offset + call.width,
          "[region] ",
          region.name,
          ": a weight of ",
          weights[view.source].sizes(),
          " is too short for rows of ",
          call.width);
      continue;
    }
    const Tensor& tensor = tensors.at(view.source);
    const bool table = region.inputs[i] == region::Kind::kTable;
    TORCH_CHECK(
        tensor.is_contiguous() &&
            (table ? tensor.scalar_type() == at::kFloat
                   : tensor.scalar_type() == dtype &&
                         (dtype == at::kFloat || dtype == at::kBFloat16)),
        "[region] ",
        region.name,
        ": expected a contiguous fp32",
        table ? " table" : " or bf16 tensor of one dtype",
        ", got ",
        tensor.scalar_type());
    const int64_t last = (call.rows - 1) / view.row_divisor * view.row_stride;
    TORCH_CHECK(
        call.rows == 0 || tensor.numel() >= view.offset + last + call.width,
        "[region] ",
        region.name,
        ": input ",
        i,
        " of ",
        tensor.sizes(),
        " does not hold ",
        call.rows,
        " rows of ",
        call.width);
  }
}

}  // namespace

RegionCall RegionCall::over_rows(
    const Region& region, const Tensor& rows, std::vector<double> scalars) {
  RegionCall call{.region = &region, .scalars = std::move(scalars)};
  call.width = rows.dim() == 0 ? 1 : rows.size(-1);
  call.rows = call.width == 0 ? 0 : rows.numel() / call.width;
  size_t tensors = 0;
  size_t columns = 0;
  for (const region::Kind kind : region.inputs) {
    if (kind == region::Kind::kColumns) {
      call.inputs.push_back({.source = columns++});
    } else {
      call.inputs.push_back({.source = tensors++, .row_stride = call.width});
    }
  }
  for (int i = 0; i < region.num_results; ++i) {
    call.results.push_back({.source = static_cast<size_t>(i), .row_stride = call.width});
    call.result_sizes.push_back(rows.sizes().vec());
  }
  return call;
}

Registry<RegionImplementation>& region_implementations() {
  static Registry<RegionImplementation> registry("region implementation");
  return registry;
}

RegionTable::RegionTable(const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    const size_t equals = choice.find('=');
    const std::string name =
        equals == std::string::npos ? "fused" : choice.substr(equals + 1);
    const std::string glob = choice.substr(0, equals);
    const RegionImplementation* implementation = nullptr;
    if (name == "plain") {
      implementation = &plain_implementation();
    } else if (name != "fused") {
      implementation = &region_implementations().at(name);
      if (!glob_match(glob, implementation->region)) {
        fail<ConfigError>(
            "compile.regions: \"{}\" replaces the region {}, which \"{}\" does not match",
            name,
            implementation->region,
            glob);
      }
    }
    choices_.emplace_back(glob, implementation);
  }
}

const RegionImplementation* RegionTable::find(std::string_view region) const {
  const RegionImplementation* found = &plain_implementation();
  for (const auto& [glob, implementation] : choices_) {
    const bool other = implementation != nullptr && !implementation->region.empty() &&
                       implementation->region != region;
    if (!other && glob_match(glob, region)) {
      found = implementation;
    }
  }
  return found;
}

std::vector<Tensor> run_region(
    const RegionCall& call,
    const std::vector<Tensor>& tensors,
    const std::vector<Weight>& weights,
    OpContext& context) {
  check(call, tensors, weights);
  const RegionImplementation* chosen =
      context.regions == nullptr ? nullptr : context.regions->find(call.region->name);
  if (chosen == nullptr) {
    const bool has_kernels = tensors[0].is_cpu() || call.region->cuda_kernels != nullptr;
    chosen = has_kernels ? &fused_implementation() : &plain_implementation();
  }
  std::vector<Tensor> stubs;
  std::vector<WeightHandle> handles;
  for (const Weight& weight : weights) {
    stubs.push_back(weight.stub);
    handles.push_back(weight.handle);
  }
  return RegionFunction::apply(
      at::TensorList(tensors),
      at::TensorList(stubs),
      c10::make_intrusive<SavedCall>(
          call,
          std::move(handles),
          chosen == nullptr ? &fused_implementation() : chosen));
}

}  // namespace titan::ops
