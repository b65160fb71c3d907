// Operands of fp32 products, from fp32 or widened from bf16.

#include "titan/ops/cpu/operands.h"
#include "titan/ops/cpu/transpose.h"
#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

inline int lanes_left(int64_t left) {
  return static_cast<int>(left < kLanes ? left : kLanes);
}

// Columns [c, c + 16) of rows [r, r + 16), zero beyond the ends.
template <class S>
inline void load16(const Matrix<const S>& m, int64_t r, int64_t c, F16 (&block)[kLanes]) {
  const int n = lanes_left(m.columns - c);
  for (int i = 0; i < kLanes; ++i) {
    const S* p = m.data + (r + i) * m.stride + c;
    block[i] = r + i >= m.rows ? splat(0.0F) : n == kLanes ? load(p) : load_first(p, n);
  }
}

template <class S>
void pack_rows(const Matrix<const S>& source, float* block) {
  for (int64_t r = 0; r < source.rows; ++r) {
    for (int64_t c = 0; c < kBlockColumns; c += kLanes) {
      const int n = lanes_left(source.columns - c);
      const S* p = source.data + r * source.stride + c;
      const F16 x = n == kLanes ? load(p) : n > 0 ? load_first(p, n) : splat(0.0F);
      store(block + r * kBlockColumns + c, x);
    }
  }
}

template <class S>
void pack_columns(const Matrix<const S>& source, float* block) {
  F16 tile[kLanes];
  for (int64_t k = 0; k < source.columns; k += kLanes) {
    const int depth = lanes_left(source.columns - k);
    for (int64_t c = 0; c < kBlockColumns; c += kLanes) {
      load16(source, c, k, tile);
      transpose16(tile);
      for (int i = 0; i < depth; ++i) {
        store(block + (k + i) * kBlockColumns + c, tile[i]);
      }
    }
  }
}

template <class S>
void copy(const Matrix<const S>& source, float* out) {
  for (int64_t r = 0; r < source.rows; ++r) {
    const S* from = source.data + r * source.stride;
    float* to = out + r * source.columns;
    int64_t c = 0;
    for (; c + kLanes <= source.columns; c += kLanes) {
      store(to + c, load(from + c));
    }
    const int rest = static_cast<int>(source.columns - c);
    store_first(to + c, load_first(from + c, rest), rest);
  }
}

template <class S>
void transpose(const Matrix<const S>& source, float* out, int64_t stride) {
  F16 tile[kLanes];
  for (int64_t c = 0; c < source.columns; c += kLanes) {
    const int columns = lanes_left(source.columns - c);
    for (int64_t r = 0; r < source.rows; r += kLanes) {
      load16(source, r, c, tile);
      transpose16(tile);
      for (int i = 0; i < columns; ++i) {
        store(out + (c + i) * stride + r, tile[i]);
      }
    }
  }
}

void narrow(const Matrix<const float>& tile, Bf16* out, int64_t stride) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float* from = tile.data + r * tile.stride;
    Bf16* to = out + r * stride;
    int64_t c = 0;
    for (; c + kLanes <= tile.columns; c += kLanes) {
      store(to + c, load(from + c));
    }
    const int rest = static_cast<int>(tile.columns - c);
    store_first(to + c, load_first(from + c, rest), rest);
  }
}

void add(const Matrix<const float>& tile, float* out, int64_t stride) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const float* from = tile.data + r * tile.stride;
    float* to = out + r * stride;
    for (int64_t c = 0; c < tile.columns; c += kLanes) {
      const int n = lanes_left(tile.columns - c);
      store_first(to + c, load_first(to + c, n) + load_first(from + c, n), n);
    }
  }
}

}  // namespace

extern const OperandKernels<float, float> kFloatOperands = {
    pack_rows<float>, pack_columns<float>, copy<float>, transpose<float>};
extern const OperandKernels<Bf16, float> kWidenedOperands = {
    pack_rows<Bf16>, pack_columns<Bf16>, copy<Bf16>, transpose<Bf16>};
extern const TileKernels kTile = {narrow, add};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
