#pragma once
// The steps of Muon (Jordan et al. 2024): momentum, then the nearest orthogonal matrix by
// Newton-Schulz iterations, then the update. A matrix's result does not depend on the
// number of threads, nor on the matrices beside it.

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

struct MuonMomentumArgs {
  double momentum = 0.95;
  bool nesterov = true;
  double gradient_scale = 1;  // multiplies the gradient first (clipping)
};

// With g = gradient_scale gradient, in one pass over contiguous fp32 tensors of one
// shape:
//   m += (1 - momentum) (g - m);  update = nesterov ? m + (1 - momentum) (g - m) : m
void muon_momentum(
    const MuonMomentumArgs& args, const Tensor& gradient, Tensor momentum, Tensor update);

struct NewtonSchulzArgs {
  int64_t steps = 5;
  // x <- a x + b (x x^T) x + c (x x^T)^2 x
  double a = 3.4445;
  double b = -4.775;
  double c = 2.0315;
  double eps = 1e-7;                     // least norm to divide by
  at::ScalarType dtype = at::kBFloat16;  // of the iteration: bf16 or fp32
};

// Each matrix of `updates` [B, N, K] (fp32, contiguous) divided by its Frobenius norm and
// brought near the orthogonal matrix of its singular vectors: [B, N, K] in args.dtype.
// Products accumulate in fp32; each step rounds the three matrices that it forms once.
// Tall matrices are iterated on their transpose.
Tensor orthogonalize(const Tensor& updates, const NewtonSchulzArgs& args);

// parameter = (1 - decay) parameter - step direction, in one pass; parameter fp32,
// direction fp32 or bf16, contiguous and of one shape.
void muon_step(double step, double decay, Tensor parameter, const Tensor& direction);

// Oracles from library calls, in the dtype of their inputs.
void muon_momentum_plain(
    const MuonMomentumArgs& args, const Tensor& gradient, Tensor momentum, Tensor update);
Tensor orthogonalize_plain(const Tensor& updates, const NewtonSchulzArgs& args);

}  // namespace titan::ops
