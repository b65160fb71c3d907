#pragma once
// What the autograd Functions of ops with a weight keep from forward to backward.

#include <torch/csrc/autograd/custom_function.h>

#include "titan/ops/context.h"
#include "titan/ops/weight.h"

namespace titan::ops {

// Position of x and of the weight's stub among the inputs of such a Function's apply().
inline constexpr size_t kInputX = 0;
inline constexpr size_t kInputStub = 1;

struct SavedWeight : torch::CustomClassHolder {
  SavedWeight(const WeightHandle& h, OpContext* c) : handle(h), context(c) {}

  WeightHandle handle;
  OpContext* context;
};

inline void save_weight(
    torch::autograd::AutogradContext* ctx,
    const WeightHandle& handle,
    OpContext* context) {
  ctx->saved_data["weight"] =
      c10::IValue::make_capsule(c10::make_intrusive<SavedWeight>(handle, context));
}

inline SavedWeight saved_weight(torch::autograd::AutogradContext* ctx) {
  return static_cast<const SavedWeight&>(*ctx->saved_data.at("weight").toCapsule());
}

}  // namespace titan::ops
