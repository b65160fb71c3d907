#include "titan/ops/cpu/pack.h"

#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/cpu/parallel.h"

namespace titan::ops::cpu {
namespace {

template <class S, class P>
Tensor pack(const Tensor& weight, PackKind kind) {
  const bool forward = kind == PackKind::kForward;
  const int64_t rows = weight.size(-2);
  const int64_t columns = weight.size(-1);
  const int64_t blocks = ceil_div(forward ? rows : columns, kBlockColumns);
  const int64_t depth = padded_depth<P>(forward ? columns : rows);
  std::vector<int64_t> sizes = weight.sizes().vec();
  sizes.resize(sizes.size() - 2);
  sizes.push_back(blocks);
  if constexpr (std::is_same_v<P, Bf16>) {
    sizes.insert(sizes.end(), {depth / 2, kBlockColumns, 2});
  } else {
    sizes.insert(sizes.end(), {depth, kBlockColumns});
  }
  const auto dtype = std::is_same_v<P, Bf16> ? at::kBFloat16 : at::kFloat;
  const Tensor packed = at::empty(sizes, weight.options().dtype(dtype));
  const auto* from = static_cast<const S*>(weight.const_data_ptr());
  P* to = data_of<P>(packed);
  parallel_tasks(weight.numel() / (rows * columns) * blocks, [&](Range tasks) {
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      const int64_t begin = task % blocks * kBlockColumns;
      const Matrix<const S> matrix{
          from + task / blocks * rows * columns, rows, columns, columns};
      P* block = to + task * depth * kBlockColumns;
      if (forward) {
        operand_kernels<S, P>().pack_columns(
            matrix.rows_from(begin, kBlockColumns), block);
      } else {
        operand_kernels<S, P>().pack_rows(
            matrix.columns_from(begin, kBlockColumns), block);
      }
    }
  });
  return packed;
}

}  // namespace

Tensor pack_weight(const Tensor& weight, PackKind kind, at::ScalarType compute_dtype) {
  TORCH_CHECK(
      (weight.dim() == 2 || weight.dim() == 3) && weight.numel() > 0 &&
          weight.is_contiguous(),
      "[pack_weight] expected a contiguous matrix or stack of matrices, got shape ",
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
