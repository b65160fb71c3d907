#include "titan/ops/cpu/muon_rows.h"

#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

template <class T>
void step(const MuonStep& args, int64_t begin, int64_t end) {
  const T* direction = static_cast<const T*>(args.direction);
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 kept = get(args.parameter + i, n) * splat(args.kept);
    put(args.parameter + i, fma(get(direction + i, n), splat(-args.step), kept), n);
  });
}

template <class T>
void blend(const MuonBlend& args, const Matrix<const float>& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const T* x = static_cast<const T*>(args.x) + r * args.stride;
    T* out = static_cast<T*>(args.out) + r * args.stride;
    const float* from = tile.data + r * tile.stride;
    for_vectors(0, tile.columns, [&](int64_t i, int n) {
      F16 value = get(from + i, n) * splat(args.tile_factor);
      if (args.x != nullptr) {
        value = fma(get(x + i, n), splat(args.x_factor), value);
      }
      put(out + i, value, n);
    });
  }
}

}  // namespace

void muon_momentum(const MuonMomentum& args, int64_t begin, int64_t end) {
  const F16 rate = splat(args.one_minus_momentum);
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 g = get(args.gradient + i, n) * splat(args.gradient_scale);
    const F16 before = get(args.momentum + i, n);
    const F16 m = fma(rate, g - before, before);
    put(args.momentum + i, m, n);
    put(args.update + i, args.nesterov ? fma(rate, g - m, m) : m, n);
  });
}

void muon_step(const MuonStep& args, int64_t begin, int64_t end) {
  args.bf16 ? step<Bf16>(args, begin, end) : step<float>(args, begin, end);
}

void muon_blend(const MuonBlend& args, const Matrix<const float>& tile) {
  args.bf16 ? blend<Bf16>(args, tile) : blend<float>(args, tile);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
