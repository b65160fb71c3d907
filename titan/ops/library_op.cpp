#include "titan/ops/library_op.h"

#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SavedFunction : torch::CustomClassHolder {
  LibraryFunction f;
  std::vector<WeightHandle> weights;
  OpContext* context = nullptr;
  std::string name;

  [[nodiscard]] std::vector<Tensor> values() const {
    std::vector<Tensor> values;
    for (const WeightHandle& weight : weights) {
      values.push_back(weight.value());
    }
    return values;
  }
};

// Which arguments gradients are wanted of, by position.
struct Wanted {
  std::vector<bool> inputs;
  std::vector<bool> weights;
};

// Leaves of the wanted among `tensors`, appended to `leaves`; the others as they are.
std::vector<Tensor> leaves_of(
    const std::vector<Tensor>& tensors,
    const std::vector<bool>& wanted,
    std::vector<Tensor>& leaves) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < tensors.size(); ++i) {
    arguments.push_back(tensors[i].detach());
    if (wanted[i]) {
      arguments.back().requires_grad_(true);
      leaves.push_back(arguments.back());
    }
  }
  return arguments;
}

// The gradients of the wanted arguments, inputs first; undefined for the others.
variable_list gradients(
    const SavedFunction& saved,
    const std::vector<Tensor>& inputs,
    const variable_list& d_results,
    const Wanted& wanted) {
  std::vector<Tensor> leaves;
  const std::vector<Tensor> some = leaves_of(inputs, wanted.inputs, leaves);
  const std::vector<Tensor> values = leaves_of(saved.values(), wanted.weights, leaves);
  const at::AutoGradMode record(true);
  const std::vector<Tensor> results = saved.f(some, values);
  variable_list used;
  variable_list d_used;
  for (size_t i = 0; i < results.size(); ++i) {
    if (d_results[i].defined() && results[i].requires_grad()) {
      used.push_back(results[i]);
      d_used.push_back(d_results[i]);
    }
  }
  variable_list found(leaves.size());
  if (!used.empty() && !leaves.empty()) {
    found = torch::autograd::grad(used, leaves, d_used, std::nullopt, false, true);
  }
  variable_list all;
  size_t next = 0;
  for (const std::vector<bool>* list : {&wanted.inputs, &wanted.weights}) {
    for (const bool wants : *list) {
      all.push_back(wants ? found[next++] : Tensor());
    }
  }
  return all;
}

struct LibraryOp : torch::autograd::Function<LibraryOp> {
  static variable_list forward(
      AutogradContext* ctx,
      at::TensorList inputs,
      at::TensorList /*stubs*/,
      const c10::intrusive_ptr<SavedFunction>& saved) {
    ctx->set_materialize_grads(false);
    ctx->save_for_backward(inputs.vec());
    ctx->saved_data["function"] = c10::IValue::make_capsule(saved);
    RematFrame* remat = saved->context->remat;
    if (remat != nullptr && remat->replays(saved->name)) {
      return remat->take(saved->name);
    }
    variable_list results = saved->f(inputs.vec(), saved->values());
    for (Tensor& result : results) {
      result = result.detach();
    }
    if (remat != nullptr && remat->records(saved->name)) {
      variable_list kept;
      for (const Tensor& result : results) {
        kept.push_back(result.detach());
      }
      remat->put(saved->name, std::move(kept));
    }
    return results;
  }

  static variable_list backward(AutogradContext* ctx, variable_list d_results) {
    const c10::intrusive_ptr<SavedFunction> saved =
        c10::static_intrusive_pointer_cast<SavedFunction>(
            ctx->saved_data.at("function").toCapsule());
    const variable_list inputs = ctx->get_saved_variables();
    Wanted wanted;
    for (size_t i = 0; i < inputs.size(); ++i) {
      wanted.inputs.push_back(ctx->needs_input_grad(i));
    }
    for (size_t i = 0; i < saved->weights.size(); ++i) {
      wanted.weights.push_back(ctx->needs_input_grad(inputs.size() + i));
    }
    const auto hand_over = [saved, inputs](const variable_list& all) {
      for (size_t i = 0; i < saved->weights.size(); ++i) {
        if (const Tensor& dw = all[inputs.size() + i]; dw.defined()) {
          saved->weights[i].source->add_grad(saved->weights[i].index, dw);
        }
      }
    };
    variable_list all;
    if (saved->context->defer == nullptr) {
      all = gradients(*saved, inputs, d_results, wanted);
      hand_over(all);
    } else {
      const std::vector<bool> no_weights(wanted.weights.size(), false);
      all = gradients(*saved, inputs, d_results, {wanted.inputs, no_weights});
      const Wanted later{std::vector<bool>(inputs.size(), false), wanted.weights};
      saved->context->defer->push(
          [=] { hand_over(gradients(*saved, inputs, d_results, later)); });
    }
    std::fill(all.begin() + static_cast<int64_t>(inputs.size()), all.end(), Tensor());
    all.emplace_back();
    return all;
  }
};

}  // namespace

std::vector<Tensor> library_op(
    LibraryFunction f,
    const std::vector<Tensor>& inputs,
    const std::vector<Weight>& weights,
    OpContext& context,
    std::string_view name) {
  auto saved = c10::make_intrusive<SavedFunction>();
  saved->f = std::move(f);
  saved->context = &context;
  saved->name = name;
  std::vector<Tensor> stubs;
  for (const Weight& weight : weights) {
    stubs.push_back(weight.stub);
    saved->weights.push_back(weight.handle);
  }
  return LibraryOp::apply(
      at::TensorList(inputs), at::TensorList(stubs), std::move(saved));
}

}  // namespace titan::ops
