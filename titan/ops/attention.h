#pragma once
// Softmax attention within each sequence. Keys are walked in fixed blocks from the
// sequence's position 0 (online softmax, Milakov and Gimelshein 2018; FlashAttention, Dao
// et al. 2022), so a row has the same bits alone, packed, in any chunking of its prompt,
// and decoded token by token over a cache of any block size. A key or value that is not
// finite reaches the rows that see it, and no other.

#include <string_view>

#include "titan/ops/attention_rule.h"
#include "titan/ops/context.h"
#include "titan/ops/sequence.h"
#include "titan/ops/weight.h"

namespace titan::ops {

struct AttentionInputs {
  // fp32 or bf16, all the same; any strides but the last, which is 1. Key and value may
  // be views of one cache, the value the key's first columns.
  Tensor query;  // [T, H, D]
  Tensor key;    // [S, G, D]; H is a multiple of G (grouped queries)
  Tensor value;  // [S, G, Dv]

  // One learned logit a query head, [H], in the denominator of its softmax (Xiao et al.
  // 2023; gpt-oss); read in fp32. Null: none.
  const Weight* sinks = nullptr;
};

struct AttentionOutput {
  Tensor out;          // [T, H, Dv]
  Tensor log_sum_exp;  // fp32 [T, H], natural, sinks included
};

// softmax(score(q k^T)) v over the keys that `rule` lets a row see; 0 for a row that sees
// none. Differentiable in all inputs where the keys have no blocks and spans that share
// keys start at the same one. `name` is the region's name for named rematerialisation
// (kept: output and log-sum-exp). REQUIRES: context outlives the backward pass.
Tensor attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    OpContext& context,
    std::string_view name);

// The same with the logarithm of each row's denominator, -inf where a row sees nothing:
// attention over parts of the keys is merged with weights e^(log_sum_exp - their
// log-sum-exp). Differentiable through both results.
AttentionOutput attention_with_log_sum_exp(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    OpContext& context,
    std::string_view name);

// Oracle from library calls, one sequence at a time. Differentiable. `sinks` [H], or
// undefined, stands in for the inputs' weight.
AttentionOutput attention_plain(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    const AttentionRule& rule,
    const Tensor& sinks = {});

}  // namespace titan::ops
