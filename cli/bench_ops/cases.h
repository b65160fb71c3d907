#pragma once
// The operators that `titan bench ops` measures, at the shapes of the models that it
// trains, against what a PyTorch program would call.

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cli/bench_ops/op_table.h"

namespace titan::cli {

[[nodiscard]] std::vector<OpCase> attention_cases(at::ScalarType dtype);
[[nodiscard]] std::vector<OpCase> linear_cases(at::ScalarType dtype);
[[nodiscard]] std::vector<OpCase> head_cases(at::ScalarType dtype);
[[nodiscard]] std::vector<OpCase> row_cases(at::ScalarType dtype);
[[nodiscard]] std::vector<OpCase> optimizer_cases();

}  // namespace titan::cli
