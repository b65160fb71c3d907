#pragma once
// Which instruction set the kernels run with. Every kernel file is compiled once per
// level and chosen at run time, so one binary serves every x86-64 processor with AVX2.

#include <string_view>

namespace titan::ops::cpu {

// Ascending; each level includes the ones below.
enum class Isa { kAvx2, kAvx512, kAvx512Bf16, kAmx };

// The processor's level, lowered by the environment variable TITAN_CPU_ISA (avx2, avx512,
// avx512_bf16, amx) for tests. Constant for the process. Throws EnvironmentError on a
// processor without AVX2 and InputError for an unknown name in the variable.
Isa isa();

[[nodiscard]] std::string_view isa_name(Isa isa);

// True where brgemm multiplies bf16 directly; below, bf16 operands are widened to fp32
// tiles.
[[nodiscard]] inline bool has_bf16_brgemm() {
  return isa() >= Isa::kAvx512Bf16;
}

}  // namespace titan::ops::cpu

// In a kernel file: opens the namespace of the level that it is being compiled for.
// cmake/KernelSources.cmake defines TITAN_ISA_NAMESPACE as avx2, avx512 or avx512_bf16.
#define TITAN_ISA_SELECT(symbol)                                                         \
  (::titan::ops::cpu::isa() >= ::titan::ops::cpu::Isa::kAvx512Bf16 ? avx512_bf16::symbol \
   : ::titan::ops::cpu::isa() >= ::titan::ops::cpu::Isa::kAvx512   ? avx512::symbol      \
                                                                   : avx2::symbol)
