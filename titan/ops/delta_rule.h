#pragma once
// Linear attention by the gated delta rule: Gated DeltaNet (Yang et al. 2024; one decay a
// head) and Kimi Delta Attention (Kimi Team 2025, Kimi Linear; one decay a key channel).
// A head remembers a sequence in a matrix S [Dk, Dv], zero before position 0. At each
// position
//   S = diag(e^g) S;  delta = beta (v - S^T k);  S = S + k delta^T;  out = S^T q
// with k / sqrt(|k|^2 + norm_eps) for k and likewise for q, times `scale`. All in fp32.
//
// A row has the same bits alone, packed, in any chunking of its prompt and decoded token
// by token: both forms compute it in chunks of 64 positions, counted from position 0
// (ops/cpu/delta_rule.h). Inputs that are not finite may reach every row of their chunk.

#include <string_view>
#include <vector>

#include "titan/ops/context.h"
#include "titan/ops/sequence.h"

namespace titan::ops {

struct DeltaRuleInputs {
  // fp32 or bf16, all the same; any strides but the last, which is 1.
  Tensor query;  // [T, G, Dk]
  Tensor key;    // [T, G, Dk]
  Tensor value;  // [T, H, Dv]; H is a multiple of G, head h has key head h G / H

  Tensor log_decay;  // g <= 0, fp32 [T, H] or [T, H, Dk]
  Tensor beta;       // fp32 [T, H]
};

struct DeltaRuleOptions {
  double scale = 1;
  double norm_eps = 1e-6;
};

// The rows of whole documents: every span starts at position 0. Returns [T, H, Dv] in the
// value's type. Differentiable in all inputs. Backward keeps nothing but the inputs and
// computes the states again, for which each thread holds H / G matrices S for every 64
// rows of its longest sequence. `name` is the region's name for named rematerialisation
// (kept: the output).
Tensor delta_rule(
    const DeltaRuleInputs& inputs,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options,
    OpContext& context,
    std::string_view name);

struct DeltaRuleOutput {
  Tensor out;     // [T, H, Dv]
  Tensor states;  // fp32 [spans, H, Dk, Dv], behind the last row of each span
};

// The same over parts of documents, as a context that is split over ranks has them: a
// span at a position > 0, a multiple of 64, continues from its row of `states`, fp32
// [spans, H, Dk, Dv] contiguous; one at position 0 starts from zero whatever stands
// there. Differentiable in `states` too and through both results. Not for named
// rematerialisation.
DeltaRuleOutput delta_rule_with_states(
    const DeltaRuleInputs& inputs,
    const Tensor& states,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options);

// Generation: what the heads of a layer remember of each sequence. A slot is plain data:
// its copy is a sequence's memory at that position, wherever in a chunk.
struct DeltaRuleCache {
  Tensor memory;  // fp32 [slots, H, delta_rule_memory_size(Dk, Dv)] contiguous
  std::vector<int64_t> slots;  // of each span of the step
};

// Floats that a head remembers of a sequence: S at the chunk's start, and the keys and
// deltas of the chunk's rows. 39,040 for widths of 128.
[[nodiscard]] int64_t delta_rule_memory_size(int64_t key_width, int64_t value_width);

// Each span continues the sequence in its slot; a span at position 0 starts it. Updates
// the slots; no gradients. REQUIRES: a span at position p > 0 follows on the rows [0, p)
// of the same sequence, and the slots of a step differ.
Tensor delta_rule_cached(
    const DeltaRuleInputs& inputs,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options,
    const DeltaRuleCache& cache);

// Oracle from library calls, row by row, in fp32 for bf16 inputs and in the inputs' type
// otherwise (fp64: all inputs fp64). Undefined states: zero. Differentiable.
DeltaRuleOutput delta_rule_plain(
    const DeltaRuleInputs& inputs,
    const Tensor& states,
    const SequenceContext& sequence,
    const DeltaRuleOptions& options);

}  // namespace titan::ops
