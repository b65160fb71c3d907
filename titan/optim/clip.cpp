#include "titan/optim/clip.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "titan/ops/grad_norm.h"

namespace titan::optim {

double gradient_norm(parallel::ParameterStore& store) {
  std::vector<at::Tensor> gradients;
  for (const auto& bucket : store.buckets()) {
    gradients.push_back(bucket->flat_gradient());
  }
  const std::vector<double> sums = ops::sums_of_squares(gradients);
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

double clip_scale(double norm, double max_norm) {
  return max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
}

std::string non_finite_gradient(parallel::ParameterStore& store) {
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : store.parameters()) {
    gradients.push_back(parameter.gradient());
  }
  const std::vector<double> sums = ops::sums_of_squares(gradients);
  const auto first = std::find_if_not(
      sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
  return first == sums.end()
             ? ""
             : store.parameters()[static_cast<size_t>(first - sums.begin())].name;
}

}  // namespace titan::optim
