#include "titan/train/peak.h"

#include <algorithm>
#include <chrono>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "titan/ops/linear.h"
#include "titan/parallel/parameter_store.h"

namespace titan::train {

double measure_matmul_peak(at::ScalarType dtype) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kSize = 1024;
  constexpr int kTries = 8;
  const at::NoGradGuard no_grad;
  parallel::ParameterStore store(dtype);
  const ops::Weight weight =
      store.declare(0, {"w", {kSize, kSize}, nn::Init::normal(1.0 / 32)});
  store.materialize();
  store.initialize(0);
  const at::Tensor x = at::ones({kSize, kSize}, at::TensorOptions(dtype));
  ops::OpContext context;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    (void)ops::linear(x, weight, context, "");
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds.count());
  }
  return best;
}

}  // namespace titan::train
