#pragma once
// The short causal convolution in front of linear attention: every channel is convolved
// with its own four taps, then SiLU. A row depends on itself and the three rows before it
// in its sequence, and has the same bits in any chunking.

#include <vector>

#include "titan/ops/context.h"
#include "titan/ops/sequence.h"
#include "titan/ops/weight.h"

namespace titan::ops {

inline constexpr int64_t kConvolutionTaps = 4;

// silu(sum over j of w[c, j] x[t - 3 + j, c]), rows before position 0 being zero. x
// [T, C] fp32 or bf16 with contiguous rows, every span starts at position 0; weight
// [C, 4] or [C, 1, 4]; computed in fp32, returns [T, C] in x's type. Differentiable in x
// and the weight, whose gradient is summed in the order of the rows and added to the
// weight's source at once. For a later part of a sequence, put the three rows before it
// in front and drop their results.
Tensor short_convolution(
    const Tensor& x, const Weight& weight, const SequenceContext& sequence);

// The last inputs of each sequence: the rows at the positions p - 3, p - 2, p - 1 where p
// comes next, zero before position 0. A slot is plain data and may be copied.
struct ConvolutionCache {
  Tensor rows;                 // [slots, 3, C] of x's type, contiguous
  std::vector<int64_t> slots;  // of each span of the step
};

// Each span continues the sequence in its slot; a span at position 0 starts it. Updates
// the slots; no gradients. REQUIRES: the slots of a step differ.
Tensor short_convolution_cached(
    const Tensor& x,
    const Weight& weight,
    const SequenceContext& sequence,
    const ConvolutionCache& cache);

// Oracle from library calls, for whole sequences; weight [C, 4]. Differentiable.
Tensor short_convolution_plain(
    const Tensor& x, const Tensor& weight, const SequenceContext& sequence);

}  // namespace titan::ops
