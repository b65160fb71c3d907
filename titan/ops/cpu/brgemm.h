#pragma once
// oneDNN's batch-reduce matrix micro-kernel, as LibTorch exports it, behind raw pointers
// so that kernel files need no LibTorch headers.

#include <cstdint>

namespace titan::ops::cpu {

// A bf16 value as its bits.
using Bf16 = uint16_t;

struct BrgemmShape {
  int64_t m, n, k;        // C [m, n] = A [m, k] B [k, n]
  int64_t lda, ldb, ldc;  // leading dimensions in elements
};

// C = A B, or C += A B with accumulate. fp32: B is [k, ldb] row-major. A row of C has the
// same bits for every m and for every n that covers it.
void brgemm(
    const BrgemmShape& shape, bool accumulate, const float* a, const float* b, float* c);

// bf16 with fp32 accumulation: B interleaves pairs of rows ("VNNI"): [k/2, ldb, 2].
// REQUIRES: has_bf16_brgemm(); on AMX k <= 32 or k a multiple of 32 (zero padded).
void brgemm(
    const BrgemmShape& shape, bool accumulate, const Bf16* a, const Bf16* b, float* c);

// Frees the thread's tile state. oneDNN and MKL calls on a thread that used brgemm crash
// without it: every parallel region that calls brgemm owns one of these on each of its
// threads.
class BrgemmScope {
 public:
  BrgemmScope() = default;
  ~BrgemmScope();
  BrgemmScope(const BrgemmScope&) = delete;
  BrgemmScope& operator=(const BrgemmScope&) = delete;
};

}  // namespace titan::ops::cpu
