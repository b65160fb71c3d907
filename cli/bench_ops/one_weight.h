#pragma once

#include <ATen/ATen.h>

#include "titan/ops/context.h"
#include "titan/parallel/parameter_store.h"

namespace titan::cli {

// A single matrix parameter [N, K] as the ops see it, and its fp32 gradient.
class OneWeight {
 public:
  OneWeight(int64_t rows, int64_t columns, at::ScalarType dtype) : store_(dtype) {
    weight = store_.declare(0, {"w", {rows, columns}, nn::Init::normal(0.02)});
    store_.materialize();
    store_.initialize(0);
  }

  ops::Weight weight;
  ops::OpContext context;

 private:
  parallel::ParameterStore store_;
};

}  // namespace titan::cli
