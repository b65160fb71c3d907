#include "titan/ops/cpu/isa.h"

#include <cstdlib>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "titan/base/error.h"

namespace titan::ops::cpu {
namespace {

// Linux grants the AMX tile registers on request only (arch_prctl, feature 18 = tile
// data).
bool amx_permitted() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool processor_has_amx() {
  unsigned eax = 7;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  constexpr unsigned kAmxBf16 = 1U << 22;
  constexpr unsigned kAmxTile = 1U << 24;
  return (edx & kAmxBf16) != 0 && (edx & kAmxTile) != 0;
}

Isa detect() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    throw EnvironmentError(
        "this processor has no AVX2 and FMA, which titan's kernels need");
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
    return Isa::kAvx2;
  }
  if (!__builtin_cpu_supports("avx512bf16")) {
    return Isa::kAvx512;
  }
  return processor_has_amx() && amx_permitted() ? Isa::kAmx : Isa::kAvx512Bf16;
}

Isa choose() {
  const Isa best = detect();
  const char* wish = std::getenv("TITAN_CPU_ISA");
  if (wish == nullptr) {
    return best;
  }
  for (const Isa level : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (isa_name(level) == wish) {
      const Isa chosen = std::min(level, best);
      // oneDNN's own kernels must stop at the same level; it reads this at its first use.
      const char* onednn[] = {
          "AVX2", "AVX512_CORE", "AVX512_CORE_BF16", "AVX512_CORE_AMX"};
      setenv("ONEDNN_MAX_CPU_ISA", onednn[static_cast<int>(chosen)], 0);
      return chosen;
    }
  }
  fail<InputError>(
      "TITAN_CPU_ISA: expected avx2, avx512, avx512_bf16 or amx, got \"{}\"", wish);
}

}  // namespace

Isa isa() {
  static const Isa level = choose();
  return level;
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      return "amx";
  }
  return "";
}

}  // namespace titan::ops::cpu
