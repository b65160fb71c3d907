// An example plug-in: replaces the feed-forward layer of chosen decoder layers by one
// with a squared ReLU gate (Primer, So et al. 2021), computed by its own kernel.
//
//   titan train llama3_debug --plugin reglu2_plugin.so
//   'overrides=["layers.0.ffn=reglu2"]'
//
// The parameters keep the standard names, so checkpoints and exports work unchanged.

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "titan/config/plugin.h"
#include "titan/nn/feed_forward.h"
#include "titan/nn/override.h"

TITAN_PLUGIN;

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls body(i) for every element, in parallel. Each element stands alone, so results do
// not depend on the number of rows or threads.
template <class Body>
void for_each_element(int64_t count, const Body& body) {
  constexpr int64_t kGrain = 16384;
  at::parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(i);
    }
  });
}

// y = relu(gate)^2 up, elementwise.
template <class T>
Tensor reglu2_kernel(const Tensor& gate, const Tensor& up) {
  Tensor y = at::empty_like(gate);
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  T* out = y.mutable_data_ptr<T>();
  for_each_element(gate.numel(), [&](int64_t i) {
    const float positive = std::max(static_cast<float>(g[i]), 0.0F);
    out[i] = static_cast<T>(positive * positive * static_cast<float>(u[i]));
  });
  return y;
}

// d gate = 2 relu(gate) up dy; d up = relu(gate)^2 dy.
template <class T>
variable_list reglu2_gradient(const Tensor& gate, const Tensor& up, const Tensor& dy) {
  Tensor d_gate = at::empty_like(gate);
  Tensor d_up = at::empty_like(up);
  const T* g = gate.const_data_ptr<T>();
  const T* u = up.const_data_ptr<T>();
  const T* d = dy.const_data_ptr<T>();
  T* out_gate = d_gate.mutable_data_ptr<T>();
  T* out_up = d_up.mutable_data_ptr<T>();
  for_each_element(gate.numel(), [&](int64_t i) {
    const float positive = std::max(static_cast<float>(g[i]), 0.0F);
    const auto gradient = static_cast<float>(d[i]);
    out_gate[i] = static_cast<T>(2 * positive * static_cast<float>(u[i]) * gradient);
    out_up[i] = static_cast<T>(positive * positive * gradient);
  });
  return {d_gate, d_up};
}

struct Reglu2Function : torch::autograd::Function<Reglu2Function> {
  static Tensor forward(AutogradContext* context, const Tensor& gate, const Tensor& up) {
    context->save_for_backward({gate, up});
    return gate.scalar_type() == at::kBFloat16 ? reglu2_kernel<at::BFloat16>(gate, up)
                                               : reglu2_kernel<float>(gate, up);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dy = gradients[0].contiguous();
    return dy.scalar_type() == at::kBFloat16
               ? reglu2_gradient<at::BFloat16>(saved[0], saved[1], dy)
               : reglu2_gradient<float>(saved[0], saved[1], dy);
  }
};

class Reglu2FeedForward final : public titan::nn::FeedForward {
 public:
  Reglu2FeedForward(const titan::nn::Scope& scope, const titan::nn::FeedForwardConfig& c)
      : gate_(
            scope.child("gate"),
            {.in = c.dim, .out = c.hidden, .init = c.init},
            "ffn.gate"),
        up_(scope.child("up"), {.in = c.dim, .out = c.hidden, .init = c.init}, "ffn.up"),
        down_(
            scope.child("down"),
            {.in = c.hidden, .out = c.dim, .init = c.output_init},
            "ffn.down") {}

  Tensor forward(const Tensor& x, titan::nn::BlockContext& context) override {
    return down_.forward(
        Reglu2Function::apply(gate_.forward(x, context), up_.forward(x, context)),
        context);
  }

 private:
  titan::nn::Linear gate_, up_, down_;
};

const titan::nn::RegisterOverride<titan::nn::FeedForward> kReglu2(
    "reglu2",
    "feed-forward layer with a squared ReLU gate",
    [](const titan::nn::Scope& scope, const titan::nn::FeedForwardConfig& config) {
      return std::make_unique<Reglu2FeedForward>(scope, config);
    });

}  // namespace
