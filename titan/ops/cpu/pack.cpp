#include "titan/ops/cpu/pack.h"

#include <ATen/ATen.h>

#include "titan/ops/cpu/gemm.h"

namespace titan::ops::cpu {
namespace {

template <class S, class P>
Tensor pack(const Tensor& weight, PackKind kind) {
  const Matrix<const S> source = matrix_of<S>(weight);
  const bool forward = kind == PackKind::kForward;
  const int64_t blocks = ceil_div(forward ? source.rows : source.columns, kBlockColumns);
  const int64_t depth = padded_depth<P>(forward ? source.columns : source.rows);
  const Tensor packed =
      std::is_same_v<P, Bf16>
          ? at::empty(
                {blocks, depth / 2, kBlockColumns, 2},
                weight.options().dtype(at::kBFloat16))
          : at::empty({blocks, depth, kBlockColumns}, weight.options().dtype(at::kFloat));
  if (forward) {
    pack_columns(source, data_of<P>(packed));
  } else {
    pack_rows(source, data_of<P>(packed));
  }
  return packed;
}

}  // namespace

Tensor pack_weight(const Tensor& weight, PackKind kind, at::ScalarType compute_dtype) {
  TORCH_CHECK(
      weight.dim() == 2 && weight.numel() > 0 && weight.is_contiguous(),
      "[pack_weight] expected a contiguous matrix, got shape ",
      weight.sizes());
  const bool from_float = weight.scalar_type() == at::kFloat;
  TORCH_CHECK(
      from_float || weight.scalar_type() == at::kBFloat16,
      "[pack_weight] expected float32 or bfloat16, got ",
      weight.scalar_type());
  if (operand_dtype(compute_dtype) == at::kBFloat16) {
    return from_float ? pack<float, Bf16>(weight, kind) : pack<Bf16, Bf16>(weight, kind);
  }
  const Tensor rounded = weight.to(compute_dtype);
  return compute_dtype == at::kFloat ? pack<float, float>(rounded, kind)
                                     : pack<Bf16, float>(rounded, kind);
}

}  // namespace titan::ops::cpu
