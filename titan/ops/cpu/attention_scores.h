#pragma once
// One transposed score tile of attention's backward: from S^T and dP^T to P^T and dS^T.
// Kernel-private: included only by files compiled per instruction set.

#include "titan/ops/cpu/attention_softmax.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

inline constexpr int64_t kScoreQueries = 128;
inline constexpr int64_t kScoreKeys = 256;
inline constexpr int64_t kQueryStride = kScoreQueries + kSkew;  // fp32 and B operands
inline constexpr int64_t kQueryStrideA = kScoreQueries + 2 * kSkew;  // A operands

// Keys down and queries across.
template <class Tile>
struct ScoreTile {
  static constexpr bool kInterleaved = sizeof(Tile) < sizeof(float);
  static constexpr int64_t kStrideB = kInterleaved ? kQueryStride : kQueryStrideA;

  float* scores;     // S^T
  float* d_weights;  // dP^T
  Tile* p;           // P^T
  Tile* d_scores;    // dS^T
  Tile* d_scores_b;  // dS^T as a B operand; the same memory where the layouts agree
};

// Row statistics of the queries of a tile.
struct QueryStatistics {
  const float* log_sum_exp;  // to base 2; +inf, hence P = 0, at padding
  const float* delta;
};

// Which scores of a tile count: key row k is seen by the query columns
// [k + first, k + last), cut at the tile's borders, if it is one of the rows
// [key_begin, key_end).
struct ScoreBand {
  int64_t first, last;
  int64_t key_begin, key_end;
};

inline void store_weights(
    const ScoreTile<float>& tile,
    int64_t k,
    int64_t x,
    const F16 (&p)[2],
    const F16 (&ds)[2]) {
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t at = (k + i) * kQueryStrideA + x;
    store(tile.p + at, p[i]);
    store(tile.d_scores + at, ds[i]);
  }
}

#if defined(__AVX512BF16__)
inline void store_halves(Bf16* p, __m512i rows) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(rows));
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(p + kQueryStrideA), _mm512_extracti64x4_epi64(rows, 1));
}

inline void store_weights(
    const ScoreTile<Bf16>& tile,
    int64_t k,
    int64_t x,
    const F16 (&p)[2],
    const F16 (&ds)[2]) {
  const int64_t at = k * kQueryStrideA + x;
  const auto d = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(ds[1].v, ds[0].v));
  store_halves(
      tile.p + at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(p[1].v, p[0].v)));
  store_halves(tile.d_scores + at, d);
  _mm512_storeu_si512(tile.d_scores_b + k * kQueryStride + 2 * x, interleave(d));
}
#endif

// Turns the scores of a tile into weights. The structs come by value so that their
// members stay in registers.
template <class Tile, bool kCapped>
class ScoreWeigher {
 public:
  ScoreWeigher(
      const ScoreTile<Tile>& tile,
      const QueryStatistics& queries,
      const ScoreScale& scale,
      const ScoreBand& band)
      : tile_(tile), queries_(queries), scale_(scale), band_(band) {}

  // P^T = 2^(score^T - log_sum_exp) and dS^T = P^T (dP^T - delta) d score / d product up
  // to the scale, both zero outside the band. REQUIRES: num_keys even, num_queries a
  // multiple of 16.
  void run(int64_t num_keys, int64_t num_queries) const {
    const F16 zeros[2] = {splat(0), splat(0)};
    for (int64_t k = 0; k < num_keys; k += 2) {
      // Columns below `some` and from `none` on are masked for both rows, those in [all,
      // all_end) for neither.
      const bool both = k >= band_.key_begin && k + 1 < band_.key_end;
      const bool one = k + 1 >= band_.key_begin && k < band_.key_end;
      const int64_t begin = k + band_.first;
      const int64_t end = k + band_.last;
      const int64_t some =
          one ? cut(round_down(larger(begin, 0), kLanes), num_queries) : num_queries;
      const int64_t none =
          one ? cut(round_up(larger(end + 1, 0), kLanes), num_queries) : num_queries;
      const int64_t all = both ? cut(round_up(larger(begin + 1, 0), kLanes), none) : none;
      const int64_t all_end = cut(round_down(larger(end, 0), kLanes), none);
      int64_t x = 0;
      for (; x < some; x += kLanes) {
        store_weights(tile_, k, x, zeros, zeros);
      }
      for (; x < all; x += kLanes) {
        weigh<true>(k, x);
      }
      for (; x < all_end; x += kLanes) {
        weigh<false>(k, x);
      }
      for (; x < none; x += kLanes) {
        weigh<true>(k, x);
      }
      for (; x < num_queries; x += kLanes) {
        store_weights(tile_, k, x, zeros, zeros);
      }
    }
  }

 private:
  static int64_t cut(int64_t column, int64_t end) { return smaller(column, end); }

  static int lanes(int64_t n) {
    return static_cast<int>(n < 0 ? 0 : n < kLanes ? n : kLanes);
  }

  // Rows k and k + 1 at the columns x..x+15.
  template <bool kMasked>
  void weigh(int64_t k, int64_t x) const {
    const F16 offset = splat(0) - load(queries_.log_sum_exp + x);
    const F16 delta = load(queries_.delta + x);
    F16 p[2];
    F16 ds[2];
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t at = (k + i) * kQueryStride + x;
      const F16 d = load(tile_.d_weights + at) - delta;
      if constexpr (kCapped) {
        const F16 bent = tanh(load(tile_.scores + at) * splat(scale_.inner));
        p[i] = exp2_for<Tile>(fma(bent, splat(scale_.cap), offset));
        ds[i] = p[i] * d * (splat(1) - bent * bent);
      } else {
        p[i] = exp2_for<Tile>(fma(load(tile_.scores + at), splat(scale_.factor), offset));
        ds[i] = p[i] * d;
      }
      if constexpr (kMasked) {
        const bool seen = k + i >= band_.key_begin && k + i < band_.key_end;
        const int first = lanes(k + i + band_.first - x);
        const int last = seen ? lanes(k + i + band_.last - x) : 0;
        p[i] = keep_first(splat(0), first, keep_first(p[i], last, splat(0)));
        ds[i] = keep_first(splat(0), first, keep_first(ds[i], last, splat(0)));
      }
    }
    store_weights(tile_, k, x, p, ds);
  }

  const ScoreTile<Tile> tile_;
  const QueryStatistics queries_;
  const ScoreScale scale_;
  const ScoreBand band_;
};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
