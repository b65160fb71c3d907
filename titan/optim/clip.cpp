#include "titan/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "titan/ops/adamw.h"

namespace titan::optim {

double gradient_norm(parallel::ParameterStore& store) {
  double sum = 0;
  for (const auto& bucket : store.buckets()) {
    sum += ops::sum_of_squares(bucket->flat_gradient());
  }
  return std::sqrt(sum);
}

double clip_scale(double norm, double max_norm) {
  return max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
}

std::string non_finite_gradient(parallel::ParameterStore& store) {
  for (const auto& parameter : store.parameters()) {
    if (!std::isfinite(ops::sum_of_squares(parameter.gradient()))) {
      return parameter.name;
    }
  }
  return "";
}

}  // namespace titan::optim
