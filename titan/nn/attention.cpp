#include "titan/nn/attention.h"

#include <cmath>

#include <ATen/ATen.h>

#include "titan/ops/attention.h"
#include "titan/ops/rope.h"

namespace titan::nn {
namespace {

class GroupedQueryAttention final : public Attention {
 public:
  GroupedQueryAttention(const Scope& scope, const AttentionConfig& c)
      : config_(c),
        wq_(scope.child("wq"),
            {.in = c.dim, .out = c.num_heads * c.head_dim, .init = c.init},
            "attention.wq"),
        wk_(scope.child("wk"),
            {.in = c.dim, .out = c.num_kv_heads * c.head_dim, .init = c.init},
            "attention.wk"),
        wv_(scope.child("wv"),
            {.in = c.dim, .out = c.num_kv_heads * c.head_dim, .init = c.init},
            "attention.wv"),
        wo_(scope.child("wo"),
            {.in = c.num_heads * c.head_dim, .out = c.dim, .init = c.output_init},
            "attention.wo") {
    if (c.qk_norm) {
      q_norm_.emplace(scope.child("q_norm"), c.head_dim, c.norm_eps);
      k_norm_.emplace(scope.child("k_norm"), c.head_dim, c.norm_eps);
    }
  }

  Tensor forward(const Tensor& x, BlockContext& context) override {
    const int64_t tokens = x.size(0);
    const AttentionConfig& c = config_;
    Tensor q = wq_.forward(x, context).view({tokens, c.num_heads, c.head_dim});
    Tensor k = wk_.forward(x, context).view({tokens, c.num_kv_heads, c.head_dim});
    Tensor v = wv_.forward(x, context).view({tokens, c.num_kv_heads, c.head_dim});
    if (q_norm_) {
      q = q_norm_->rotated(q, context);
      k = k_norm_->rotated(k, context);
    } else {
      const Rotary& rotary = context.step.rotary;
      q = ops::rope(q, rotary.cosine, rotary.sine);
      k = ops::rope(k, rotary.cosine, rotary.sine);
    }
    if (context.step.cache != nullptr) {
      KvCache::Layer& layer = context.step.cache->layers.at(static_cast<size_t>(c.layer));
      append(context.step.sequence, k, layer.key);
      append(context.step.sequence, v, layer.value);
      k = layer.key;
      v = layer.value;
    }
    const double scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim));
    const Tensor mixed = ops::attention(
        {.query = q, .key = k, .value = v},
        context.step.sequence,
        {.scale = scale},
        context.ops,
        "attention.core");
    return wo_.forward(mixed.view({tokens, c.num_heads * c.head_dim}), context);
  }

 private:
  // Writes the step's new rows where each sequence's keys stand in the cache.
  static void append(
      const ops::SequenceContext& sequence, const Tensor& rows, const Tensor& cache) {
    for (const ops::SequenceSpan& span : sequence.spans) {
      const ops::KeyRows key_rows = sequence.key_rows(span);
      const int64_t end = span.position + span.query_length;
      for (int64_t p = span.position; p < end;) {
        const ops::KeyRun run = key_rows.run({p, end});
        cache.narrow(0, run.row, run.length)
            .copy_(rows.narrow(0, span.query_begin + p - span.position, run.length));
        p += run.length;
      }
    }
  }

  AttentionConfig config_;
  Linear wq_, wk_, wv_, wo_;
  std::optional<RmsNorm> q_norm_, k_norm_;
};

}  // namespace

std::unique_ptr<Attention> make_grouped_query_attention(
    const Scope& scope, const AttentionConfig& config) {
  return std::make_unique<GroupedQueryAttention>(scope, config);
}

}  // namespace titan::nn
