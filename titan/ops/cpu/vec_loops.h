// Loops over rows of fp32 or bf16 in vectors. Included only by files that are compiled
// once per instruction set.
#pragma once

#include <cstdint>

#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

// Calls step(i, n) for the vectors of [begin, end): n = 16 lanes from i on, fewer at the
// end. The constant in the loop lets the compiler drop the masks there.
template <class Step>
inline void for_vectors(int64_t begin, int64_t end, const Step& step) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    step(i, kLanes);
  }
  if (i < end) {
    step(i, static_cast<int>(end - i));
  }
}

template <class T>
inline F16 get(const T* p, int n) {
  return n == kLanes ? load(p) : load_first(p, n);
}

template <class T>
inline void put(T* p, F16 a, int n) {
  n == kLanes ? store(p, a) : store_first(p, a, n);
}

// To the precision of T and back.
inline F16 rounded(F16 a, const float* /*type*/) {
  return a;
}

inline F16 rounded(F16 a, const Bf16* /*type*/) {
  return from_bf16(to_bf16(a));
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
