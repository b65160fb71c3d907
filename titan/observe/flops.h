#pragma once
// Floating point operations of training a transformer: a multiply-add is two, and
// backward is twice forward (Kaplan et al., "Scaling laws for neural language models",
// 2020; attention as in Chowdhery et al., "PaLM", 2022, appendix B). Recomputation is not
// counted.

#include <cstdint>
#include <span>

namespace titan::observe {

struct TransformerCost {
  // That one token passes through: of a mixture of experts only the chosen ones; without
  // the embedding table (but with the output head).
  int64_t active_parameters = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t qk_dim = 0;  // of one head's query and key
  int64_t v_dim = 0;   // of one head's value
};

// 6 * parameters + 6 * layers * heads * (qk_dim + v_dim) * context: every token attends
// to `context` keys. The usual definition, comparable with other systems.
[[nodiscard]] double flops_per_token(const TransformerCost& cost, int64_t context);

// The same with the pairs that causal attention inside each document really has:
// n * (n + 1) / 2 for a document of n tokens.
[[nodiscard]] double flops_of_documents(
    const TransformerCost& cost, std::span<const int64_t> document_lengths);

// Model FLOPs utilisation, a fraction. REQUIRES: peak_flops_per_second > 0.
[[nodiscard]] double mfu(double flops_per_second, double peak_flops_per_second);

}  // namespace titan::observe
