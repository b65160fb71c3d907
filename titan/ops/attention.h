#pragma once
// Softmax attention, causal within each sequence. Keys are walked in fixed blocks from
// the sequence's position 0 (online softmax, Milakov and Gimelshein 2018; FlashAttention,
// Dao et al. 2022), so a row has the same bits alone, packed, in any chunking of its
// prompt, and decoded token by token over a cache.

#include <string_view>

#include "titan/ops/context.h"
#include "titan/ops/sequence.h"

namespace titan::ops {

struct AttentionInputs {
  Tensor query;  // [T, H, D], fp32 or bf16, contiguous
  Tensor key;    // [S, G, D], same dtype; H is a multiple of G (grouped queries)
  Tensor value;  // [S, G, Dv]
};

// softmax(scale * q k^T) v over the keys of the row's own sequence up to its own
// position; returns [T, H, Dv]. Differentiable in all inputs when every span starts at
// position 0 and key rows are the step's own rows (SequenceContext::packed); otherwise
// forward only. `name` is the region's name for named rematerialisation (kept: output and
// log-sum-exp). REQUIRES: context outlives the backward pass.
Tensor attention(
    const AttentionInputs& inputs,
    const SequenceContext& sequence,
    double scale,
    OpContext& context,
    std::string_view name);

// Oracle from library calls, one sequence at a time. Differentiable.
Tensor attention_plain(
    const AttentionInputs& inputs, const SequenceContext& sequence, double scale);

}  // namespace titan::ops
