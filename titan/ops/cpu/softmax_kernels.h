#pragma once
// Row kernels of softmax over the vocabulary. Logits come in tiles; the two numbers that
// a tile adds to a row's log-sum-exp are merged in tile order by merge_partials
// (vocabulary.cpp).

#include <cstdint>

#include "titan/ops/cpu/brgemm.h"
#include "titan/ops/cpu/isa.h"

namespace titan::ops::cpu {

// The largest logit of a tile and the sum of exp(logit - max). A NaN logit makes the sum
// NaN.
struct SoftmaxPartial {
  float max;
  float sum;
};

// d logprob[target] / d logits times `grad`: grad * (onehot(target) - exp(logit -
// log_sum_exp)).
struct LogitGradient {
  float log_sum_exp;
  float grad;
  int64_t target;  // within the tile; outside [0, n) where the target is in another tile
};

struct SoftmaxKernels {
  SoftmaxPartial (*reduce)(const float* logits, int64_t n);
  // Writes `padded` >= n elements, zero from n on.
  void (*gradient_float)(
      const LogitGradient& of,
      const float* logits,
      int64_t n,
      int64_t padded,
      float* out);
  void (*gradient_bf16)(
      const LogitGradient& of, const float* logits, int64_t n, int64_t padded, Bf16* out);

  void gradient(
      const LogitGradient& of,
      const float* logits,
      int64_t n,
      int64_t padded,
      float* out) const {
    gradient_float(of, logits, n, padded, out);
  }

  void gradient(
      const LogitGradient& of,
      const float* logits,
      int64_t n,
      int64_t padded,
      Bf16* out) const {
    gradient_bf16(of, logits, n, padded, out);
  }
};

namespace avx2 {
extern const SoftmaxKernels kSoftmax;
}

namespace avx512 {
extern const SoftmaxKernels kSoftmax;
}

namespace avx512_bf16 {
extern const SoftmaxKernels kSoftmax;
}

inline const SoftmaxKernels& softmax_kernels() {
  return TITAN_ISA_SELECT(kSoftmax);
}

}  // namespace titan::ops::cpu
