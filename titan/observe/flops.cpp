#include "titan/observe/flops.h"

namespace titan::observe {
namespace {

// One query against one key in all layers and heads.
double flops_per_pair(const TransformerCost& cost) {
  return 6.0 * static_cast<double>(cost.layers) * static_cast<double>(cost.heads) *
         static_cast<double>(cost.qk_dim + cost.v_dim);
}

}  // namespace

double flops_per_token(const TransformerCost& cost, int64_t context) {
  return 6.0 * static_cast<double>(cost.active_parameters) +
         flops_per_pair(cost) * static_cast<double>(context);
}

double flops_of_documents(
    const TransformerCost& cost, std::span<const int64_t> document_lengths) {
  double tokens = 0;
  double pairs = 0;
  for (const int64_t length : document_lengths) {
    const auto n = static_cast<double>(length);
    tokens += n;
    pairs += n * (n + 1) / 2;
  }
  return 6.0 * static_cast<double>(cost.active_parameters) * tokens +
         flops_per_pair(cost) * pairs;
}

double mfu(double flops_per_second, double peak_flops_per_second) {
  return flops_per_second / peak_flops_per_second;
}

}  // namespace titan::observe
