#pragma once
// Muon's elementwise kernels. Each call does one thread's share. `bf16` tells the type of
// the void pointers, else fp32; arithmetic is fp32.

#include <cstdint>

#include "titan/ops/cpu/isa.h"
#include "titan/ops/cpu/operands.h"

namespace titan::ops::cpu {

struct MuonMomentum {
  const float* gradient;
  float* momentum;
  float* update;
  float gradient_scale;
  float one_minus_momentum;
  bool nesterov;
};

struct MuonStep {
  float* parameter;
  const void* direction;
  float step;
  float kept;  // 1 - decay
  bool bf16;
};

// out = tile_factor tile + x_factor x, for a tile of a larger matrix.
struct MuonBlend {
  const void* x;  // the elements under the tile, `stride` from row to row; null = none
  void* out;      // likewise
  int64_t stride;
  float tile_factor;
  float x_factor;
  bool bf16;
};

#define TITAN_MUON_ROWS(level)                                              \
  namespace level {                                                         \
  void muon_momentum(const MuonMomentum& args, int64_t begin, int64_t end); \
  void muon_step(const MuonStep& args, int64_t begin, int64_t end);         \
  void muon_blend(const MuonBlend& args, const Matrix<const float>& tile);  \
  }
TITAN_MUON_ROWS(avx2)
TITAN_MUON_ROWS(avx512)
TITAN_MUON_ROWS(avx512_bf16)
#undef TITAN_MUON_ROWS

inline void muon_momentum(const MuonMomentum& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(muon_momentum)(args, begin, end);
}

inline void muon_step(const MuonStep& args, int64_t begin, int64_t end) {
  TITAN_ISA_SELECT(muon_step)(args, begin, end);
}

inline void muon_blend(const MuonBlend& args, const Matrix<const float>& tile) {
  TITAN_ISA_SELECT(muon_blend)(args, tile);
}

}  // namespace titan::ops::cpu
