#include "titan/parallel/block_runner.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace titan::parallel {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct BlockState {
  Tensor x;      // the block's input, a leaf
  Tensor inner;  // the recorded output, with the block's graph; undefined when recomputed
  Tensor output;
  ops::RematFrame remat;
  ops::OpContext ops;
  BlockRunner::Step step;
};

namespace {

Tensor leaf_of(const Tensor& x) {
  Tensor leaf = x.detach();
  if (at::isFloatingType(leaf.scalar_type())) {
    leaf.requires_grad_(true);
  }
  return leaf;
}

// Holds C++ state in saved_data; the wrapper clears it in backward, since it is not
// released with the saved variables.
struct StateCapsule : torch::CustomClassHolder {
  std::shared_ptr<BlockState> state;
  BlockRunner* runner = nullptr;
};

struct BlockFunction : torch::autograd::Function<BlockFunction> {
  static Tensor forward(
      AutogradContext* context,
      const Tensor& x,
      const Tensor& /*anchor*/,
      BlockRunner* runner,
      BlockRunner::Step step) {
    auto capsule = c10::make_intrusive<StateCapsule>();
    capsule->state = runner->forward(x, std::move(step));
    capsule->runner = runner;
    // Never the inner output itself: it would get this node as its creator, a reference
    // cycle.
    Tensor output = BlockRunner::output(*capsule->state).detach();
    context->saved_data["state"] = at::IValue::make_capsule(std::move(capsule));
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto holder = context->saved_data.at("state").toCapsule();
    context->saved_data.clear();
    auto& capsule = static_cast<StateCapsule&>(*holder);
    Tensor dx = capsule.runner->backward(*capsule.state, gradients.at(0));
    return {dx, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

BlockRunner::BlockRunner(
    std::string name, std::vector<ops::Weight> weights, Body body, RematConfig remat)
    : name_(std::move(name)),
      weights_(std::move(weights)),
      body_(std::move(body)),
      remat_(std::move(remat)),
      anchor_(at::zeros({1}).requires_grad_(true)) {}

std::shared_ptr<BlockState> BlockRunner::forward(const Tensor& x, Step step) {
  auto state = std::make_shared<BlockState>();
  state->step = std::move(step);
  state->ops.regions = state->step->regions.get();
  nn::BlockContext context{*state->step, state->ops};
  if (remat_.mode == RematMode::kNone) {
    const at::AutoGradMode record(true);
    state->x = leaf_of(x);
    state->inner = body_(state->x, context);
    state->output = state->inner.detach();
    return state;
  }
  const at::AutoGradMode no_record(false);
  state->x = x.detach();
  if (remat_.mode == RematMode::kSelective) {
    state->remat = ops::RematFrame(remat_.save);
    state->ops.remat = &state->remat;
    state->remat.set_phase(ops::RematFrame::Phase::kRecord);
  }
  state->output = body_(state->x, context).detach();
  kept_bytes_ = state->remat.held_bytes();
  return state;
}

const Tensor& BlockRunner::output(const BlockState& state) {
  return state.output;
}

Tensor BlockRunner::backward(
    BlockState& state, const Tensor& dy, ops::WgradQueue* defer) {
  state.output = Tensor();
  if (!state.inner.defined()) {
    const at::AutoGradMode record(true);
    state.remat.set_phase(ops::RematFrame::Phase::kReplay);
    nn::BlockContext context{*state.step, state.ops};
    state.x = leaf_of(state.x);
    state.inner = body_(state.x, context);
  }
  state.ops.defer = defer;
  variable_list inputs;
  if (state.x.requires_grad()) {
    inputs.push_back(state.x);
  }
  const size_t first_weight = inputs.size();
  std::vector<const ops::Weight*> trained;
  for (const ops::Weight& weight : weights_) {
    if (weight.stub.requires_grad()) {
      inputs.push_back(weight.stub);
      trained.push_back(&weight);
    }
  }
  // Listing the stubs is what makes the ops compute weight gradients at all.
  variable_list gradients = torch::autograd::grad(
      {state.inner},
      inputs,
      {dy},
      /*retain_graph=*/std::nullopt,
      /*create_graph=*/false,
      /*allow_unused=*/true);
  state.inner = Tensor();
  for (size_t i = 0; i < trained.size(); ++i) {
    // An op that returned its weight gradient instead of handing it over (library ops).
    const Tensor& dw = gradients[first_weight + i];
    if (dw.defined()) {
      trained[i]->handle.source->add_grad(trained[i]->handle.index, dw);
    }
  }
  // Weights of one source stand together: each source is told once.
  const ops::WeightSource* told = nullptr;
  for (const ops::Weight& weight : weights_) {
    if (weight.handle.source != told) {
      told = weight.handle.source;
      weight.handle.source->backward_ended();
    }
  }
  return first_weight == 1 ? gradients[0] : Tensor();
}

Tensor BlockRunner::operator()(const Tensor& x, const Step& step) {
  if (!at::GradMode::is_enabled()) {
    ops::OpContext ops{.regions = step->regions.get()};
    nn::BlockContext context{*step, ops};
    return body_(x, context);
  }
  return BlockFunction::apply(x, anchor_, this, step);
}

}  // namespace titan::parallel
