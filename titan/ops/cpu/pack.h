#pragma once
// The B operands of brgemm. A matrix that is multiplied many times is rewritten once into
// blocks of 64 columns, each block contiguous along the contracted dimension.

#include <ATen/core/Tensor.h>

#include "titan/ops/weight.h"

namespace titan::ops::cpu {

// Packs weight [N, K] (fp32 or bf16, contiguous) for products in `compute_dtype` (fp32 or
// bf16). With C columns contracted over depth R ((C, R) is (N, K) for kForward, (K, N)
// for kBackward):
//   compute fp32, or bf16 without bf16 brgemm: fp32 [ceil(C / 64), R, 64]
//   compute bf16 with bf16 brgemm: bf16 [ceil(C / 64), round_up(R, 32) / 2, 64, 2]
// padded with zeros. A stack of matrices [E, N, K] is packed matrix by matrix and has E
// as its first dimension. An fp32 weight is rounded to bf16 on the way where compute is
// bf16: the same bits as packing its bf16 copy. Runs on at::get_num_threads() threads.
Tensor pack_weight(const Tensor& weight, PackKind kind, at::ScalarType compute_dtype);

}  // namespace titan::ops::cpu
