#include "titan/parallel/parameter_store.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/base/rng.h"

namespace titan::parallel {

int64_t ParameterStore::Parameter::numel() const {
  int64_t elements = 1;
  for (const int64_t size : shape()) {
    elements *= size;
  }
  return elements;
}

ops::Weight ParameterStore::declare(int block, const nn::ParameterSpec& spec) {
  while (static_cast<int>(buckets_.size()) <= block) {
    buckets_.push_back(std::make_unique<ParameterBucket>(compute_dtype_));
  }
  ParameterBucket* bucket = buckets_[static_cast<size_t>(block)].get();
  const int index = bucket->declare(spec);
  TORCH_CHECK(
      by_name_.emplace(spec.name, parameters_.size()).second,
      "[parameters] ",
      spec.name,
      " is declared twice");
  parameters_.push_back({.name = spec.name, .bucket = bucket, .index = index});
  // One element of storage stands for the whole parameter in the autograd graph.
  Tensor stub =
      at::zeros({1}, at::TensorOptions(compute_dtype_)).expand(spec.shape).detach();
  stub.requires_grad_(true);
  return {.stub = std::move(stub), .handle = {.source = bucket, .index = index}};
}

void ParameterStore::materialize() {
  for (const auto& bucket : buckets_) {
    bucket->materialize();
  }
}

void ParameterStore::initialize(uint64_t seed) {
  at::parallel_for(
      0, static_cast<int64_t>(parameters_.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Parameter& parameter = parameters_[static_cast<size_t>(i)];
          const nn::Init init = parameter.bucket->spec(parameter.index).init;
          Tensor master = parameter.master();
          if (init.kind == nn::Init::Kind::kNormal) {
            Rng(seed, parameter.name)
                .fill_normal(
                    {master.mutable_data_ptr<float>(),
                     static_cast<size_t>(master.numel())},
                    0.0F,
                    static_cast<float>(init.standard_deviation));
          } else {
            master.fill_(init.kind == nn::Init::Kind::kOnes ? 1.0 : 0.0);
          }
        }
      });
  values_changed();
}

const ParameterStore::Parameter* ParameterStore::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &parameters_[found->second];
}

int64_t ParameterStore::num_parameters() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) {
    total += parameter.numel();
  }
  return total;
}

void ParameterStore::clear_gradients() {
  for (const auto& bucket : buckets_) {
    bucket->clear_gradients();
  }
}

void ParameterStore::values_changed() {
  for (const auto& bucket : buckets_) {
    bucket->values_changed();
  }
}

}  // namespace titan::parallel
