#pragma once
// The kernels of the language-model head. Logits are made in tiles of rows and vocabulary
// entries and used while they are in the cache.
//
// Scratch slots beside those of gemm.h: 4 gradients of logits, 5 partial log-sum-exps.

#include <optional>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/weight.h"

namespace titan::ops::cpu {

// Vocabulary entries of one tile, counted from 0; part of the numerics.
inline constexpr int64_t kVocabularyTile = 512;

struct ScoredRows {
  Tensor x;        // [T, D], T > 0
  Tensor targets;  // int64 [T], all within the vocabulary
  int64_t vocabulary;
};

struct RowScores {
  Tensor logprob;      // fp32 [T], of the target
  Tensor log_sum_exp;  // fp32 [T]
};

// `packed` is the weight [vocabulary, D] packed as kForward.
RowScores score_rows(const ScoredRows& rows, const Tensor& packed);

// log sum exp of each row of contiguous fp32 logits [T, V], with score_rows' operations.
Tensor log_sum_exp_rows(const Tensor& logits);

struct HeadBackward {
  ScoredRows rows;
  Tensor log_sum_exp;  // fp32 [T]
  Tensor grad;         // fp32 [T], of the log-probabilities
  Tensor
      packed_forward;  // the weight, both ways; packed_backward only where dX is wanted
  Tensor packed_backward;
};

// Returns dX in x's dtype where packed_backward is given, and writes dW to `weight_grad`
// where that is. The logits are made again, a slice of the vocabulary at a time for all
// rows; so each element of dW is formed whole before it is stored or added, and dX adds
// the slices in order.
Tensor head_backward(
    const HeadBackward& args, const std::optional<WeightSource::GradView>& weight_grad);

}  // namespace titan::ops::cpu
