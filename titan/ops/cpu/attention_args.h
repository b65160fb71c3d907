#pragma once
// What attention's forward and backward kernels are told about the tensors of a call.

#include <cstdint>

#include "titan/ops/attention_rule.h"

namespace titan::ops::cpu {

// A [rows, heads, width] tensor, all of a call fp32 or all bf16. Rows are contiguous.
struct HeadTensor {
  const void* data;
  int64_t row_stride;  // elements
  int64_t head_stride;
  int64_t width;
};

struct AttentionTensors {
  HeadTensor query;  // [T, heads, D]
  HeadTensor key;    // [S, kv_heads, D]
  HeadTensor value;  // [S, kv_heads, Dv]
  int64_t heads, kv_heads;
  bool bf16;
};

}  // namespace titan::ops::cpu
