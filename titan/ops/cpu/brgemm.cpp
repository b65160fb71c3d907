#include "titan/ops/cpu/brgemm.h"

#include <ATen/native/CPUBlas.h>

namespace titan::ops::cpu {

void brgemm(
    const BrgemmShape& s, bool accumulate, const float* a, const float* b, float* c) {
  at::native::cpublas::brgemm(
      s.m, s.n, s.k, s.lda, s.ldb, s.ldc, accumulate, a, b, c, /*is_vnni=*/false);
}

void brgemm(
    const BrgemmShape& s, bool accumulate, const Bf16* a, const Bf16* b, float* c) {
  // c10::BFloat16 is a struct around the same 16 bits.
  at::native::cpublas::brgemm(
      s.m,
      s.n,
      s.k,
      s.lda,
      s.ldb,
      s.ldc,
      accumulate,
      reinterpret_cast<const at::BFloat16*>(a),
      reinterpret_cast<const at::BFloat16*>(b),
      c,
      /*is_vnni=*/true);
}

BrgemmScope::~BrgemmScope() {
  at::native::cpublas::brgemm_release(/*is_vnni=*/true);
}

}  // namespace titan::ops::cpu
