#pragma once
// Weight gradients: dW = dY^T X, contracted over the tokens in their order.

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/weight.h"

namespace titan::ops::cpu {

// x [T, K] as the B operand of weight gradients, in scratch slot 3 of the calling thread.
template <class S, class P>
Packed<P> pack_activations(const Matrix<const S>& x);

// Rows of dW that one task should form of `rows` that `threads` threads share: about 192
// at most.
[[nodiscard]] int64_t grad_rows_at_a_time(int64_t rows, int64_t threads);

// out = dy^T x, or += with accumulate, on the calling thread; `out` has x.columns
// columns. dy may be some columns of a wider matrix: the rows of dW that the call forms.
// REQUIRES: a BrgemmScope; x made by pack_activations, or like it, of as many rows as dy.
template <class S, class P>
void grad_rows(
    const Matrix<const S>& dy, const Packed<P>& x, bool accumulate, float* out);

// out [N, K] = dy^T x, or += with accumulate; each element's sum is formed first and then
// stored or added once. out is contiguous. On at::get_num_threads() threads.
template <class S, class P>
void weight_grad(
    const Matrix<const S>& dy, const Packed<P>& x, bool accumulate, float* out);

// The same for tensors dy [T, N] and x [T, K], contiguous and of one dtype, fp32 or bf16.
void weight_grad(const Tensor& dy, const Tensor& x, const WeightSource::GradView& grad);

}  // namespace titan::ops::cpu
