#pragma once

#include <memory>
#include <optional>

#include "titan/nn/block.h"
#include "titan/nn/linear.h"
#include "titan/nn/norm.h"

namespace titan::nn {

struct AttentionConfig {
  int64_t dim = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  bool qk_norm =
      false;  // RMSNorm of every query and key head before the rotary embedding
  double norm_eps = 1e-5;
  int64_t layer = 0;  // index into the KV cache
  Init init;
  Init output_init;
};

// The token mixer of a decoder layer.
class Attention {
 public:
  using Config = AttentionConfig;
  static constexpr std::string_view kKind = "attention";
  virtual ~Attention() = default;
  // x [T, dim] -> [T, dim].
  virtual Tensor forward(const Tensor& x, BlockContext& context) = 0;
};

// Grouped-query attention (Ainslie et al. 2023) with half-split rotary embedding.
[[nodiscard]] std::unique_ptr<Attention> make_grouped_query_attention(
    const Scope& scope, const AttentionConfig& config);

}  // namespace titan::nn
