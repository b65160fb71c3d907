#include "titan/ops/cpu/attention_backward.h"

#include <cstring>
#include <limits>

#include "titan/ops/cpu/attention_tiles.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

constexpr int kTaskSlot = 8;  // scratch

constexpr int64_t kQueries = 128;  // of a score tile
constexpr int64_t kKeys = 256;
// Tiles at a document's end are cut at multiples of these.
constexpr int64_t kQueryStep = 64;
constexpr int64_t kKeyStep = 32;

constexpr int64_t kQueryStride = kQueries + kSkew;       // fp32 tiles and B operands
constexpr int64_t kQueryStrideA = kQueries + 2 * kSkew;  // A operands
constexpr int64_t kKeyStride = kKeys + 2 * kSkew;

template <class In>
void dot_rows(const HeadRows<In>& a, const HeadRows<In>& b, float* dots) {
  for (int64_t r = 0; r < a.rows; ++r) {
    F16 sum = splat(0);
    for (int64_t c = 0; c < a.width; c += kLanes) {
      sum = fma(load_columns(a, r, c), load_columns(b, r, c), sum);
    }
    dots[r] = reduce_add(sum);
  }
}

void add(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(to + i, load(to + i) + load(from + i));
  }
}

template <class Out>
void store_scaled(const float* from, float factor, Out* to, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes) {
    const auto left = static_cast<int>(smaller(kLanes, width - c));
    store_first(to + c, load_first(from + c, left) * splat(factor), left);
  }
}

// One score tile, keys down and queries across.
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

// Row statistics of the queries of a tile, and the factor of its scores.
struct QueryStatistics {
  const float* log_sum_exp;
  const float* delta;
  float scale;
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

// Rows k and k + 1 at columns x..x+15; of row k the first `masked` columns are masked, of
// row k + 1 one more.
template <class Tile>
void weigh_columns(
    const ScoreTile<Tile>& tile,
    const QueryStatistics& queries,
    int64_t k,
    int64_t x,
    int64_t masked) {
  const F16 scale = splat(queries.scale);
  const F16 offset = splat(0) - load(queries.log_sum_exp + x);
  const F16 delta = load(queries.delta + x);
  F16 p[2];
  F16 ds[2];
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t at = (k + i) * kQueryStride + x;
    p[i] = exp2_for<Tile>(fma(load(tile.scores + at), scale, offset));
    ds[i] = p[i] * (load(tile.d_weights + at) - delta);
    if (masked + i > 0) {
      const auto lanes = static_cast<int>(masked + i);
      p[i] = keep_first(splat(0), lanes, p[i]);
      ds[i] = keep_first(splat(0), lanes, ds[i]);
    }
  }
  store_weights(tile, k, x, p, ds);
}

// P^T = 2^(scale S^T - log_sum_exp) and dS^T = P^T (dP^T - delta), zero where the key is
// later than the query: key k sees the columns from first_query + k on. The structs come
// by value so that their members stay in registers.
template <class Tile>
void weigh(
    const ScoreTile<Tile> tile,
    const QueryStatistics queries,
    int64_t first_query,
    int64_t num_keys,
    int64_t num_queries) {
  constexpr int64_t kUnmasked = -2;
  const F16 zeros[2] = {splat(0), splat(0)};
  for (int64_t k = 0; k < num_keys; k += 2) {
    // The edges of both rows lie in one vector.
    const int64_t edge = first_query + k;
    int64_t x = 0;
    for (; x + kLanes <= smaller(edge, num_queries); x += kLanes) {
      store_weights(tile, k, x, zeros, zeros);
    }
    if (edge >= 0 && x < num_queries) {
      weigh_columns(tile, queries, k, x, edge - x);
      x += kLanes;
    }
    for (; x < num_queries; x += kLanes) {
      weigh_columns(tile, queries, k, x, kUnmasked);
    }
  }
}

template <class In>
class BackwardTask {
 public:
  using Tile = TileOf<In>;

  BackwardTask(const AttentionBackward& args, const AttentionBackwardTask& task)
      : args_(args),
        task_(task),
        group_(args.heads / args.kv_heads),
        depth_k_(depth_of<Tile>(args.key_dim)),
        depth_v_(depth_of<Tile>(args.value_dim)),
        key_(round_up(depth_k_, kLanes)),
        value_(round_up(depth_v_, kLanes)),
        query_tiles_((task.length + kQueries - 1) / kQueries),
        key_tiles_((task.length + kKeys - 1) / kKeys) {
    Carver measure(nullptr);
    carve(measure);
    Carver carver(scratch(kTaskSlot, measure.size()));
    carve(carver);
  }

  void run() {
    load_keys();
    for (int64_t i = 0; i < task_.heads; ++i) {
      head_ = task_.head + i;
      load_queries();
      for (int64_t k = 0; k < key_tiles_; ++k) {
        // The first head's sums are the group's; each later head's are added to them.
        float* group_k = group_grad_k_ + k * kKeys * key_;
        float* group_v = group_grad_v_ + k * kKeys * value_;
        float* grad_k = i == 0 ? group_k : grad_k_;
        float* grad_v = i == 0 ? group_v : grad_v_;
        for (int64_t q = k * kKeys / kQueries; q < query_tiles_; ++q) {
          run_tile(k, q, grad_k, grad_v);
        }
        if (i > 0) {
          const int64_t keys = smaller(kKeys, task_.length - k * kKeys);
          add(grad_k, group_k, keys * key_);
          add(grad_v, group_v, keys * value_);
        }
      }
      store_grad_query();
    }
    store_grad_key_value();
  }

 private:
  void carve(Carver& carver) {
    const int64_t queries = query_tiles_ * kQueries;
    const int64_t keys = key_tiles_ * kKeys;
    k_ = carver.take<Tile>(keys * key_);
    v_ = carver.take<Tile>(keys * value_);
    k_transposed_ = carver.take<Tile>(key_tiles_ * key_ * kKeyStride);
    q_columns_ = carver.take<Tile>(query_tiles_ * depth_k_ * kQueryStride);
    d_out_columns_ = carver.take<Tile>(query_tiles_ * depth_v_ * kQueryStride);
    q_rows_ = carver.take<Tile>(queries * key_);
    d_out_rows_ = carver.take<Tile>(queries * value_);
    log_sum_exp_ = carver.take<float>(queries);
    delta_ = carver.take<float>(queries);
    tile_.scores = carver.take<float>(kKeys * kQueryStride);
    tile_.d_weights = carver.take<float>(kKeys * kQueryStride);
    tile_.p = carver.take<Tile>(kKeys * kQueryStrideA);
    tile_.d_scores = carver.take<Tile>(kKeys * kQueryStrideA);
    tile_.d_scores_b = ScoreTile<Tile>::kInterleaved
                           ? carver.take<Tile>(kKeys * kQueryStride)
                           : tile_.d_scores;
    grad_q_ = carver.take<float>(query_tiles_ * key_ * kQueryStride);
    group_grad_k_ = carver.take<float>(keys * key_);
    group_grad_v_ = carver.take<float>(keys * value_);
    grad_k_ = carver.take<float>(kKeys * key_);
    grad_v_ = carver.take<float>(kKeys * value_);
  }

  // A document's rows from `first` on in a [T, heads, width] tensor.
  [[nodiscard]] HeadRows<In> rows(
      const void* tensor,
      int64_t heads,
      int64_t head,
      int64_t width,
      int64_t first) const {
    const auto* data = static_cast<const In*>(tensor);
    return {
        data + ((task_.row + first) * heads + head) * width,
        heads * width,
        task_.length - first,
        width};
  }

  // Rows of a tile that starts at `first`, no more than `most` of them.
  static HeadRows<In> cut(HeadRows<In> rows, int64_t first, int64_t most) {
    rows.data += first * rows.stride;
    rows.rows = smaller(most, rows.rows - first);
    return rows;
  }

  void load_keys() {
    const int64_t kv_head = task_.head / group_;
    const HeadRows<In> k = rows(args_.key, args_.kv_heads, kv_head, args_.key_dim, 0);
    const HeadRows<In> v = rows(args_.value, args_.kv_heads, kv_head, args_.value_dim, 0);
    const int64_t padded = round_up(task_.length, kKeyStep);
    copy_rows(k, k_, key_, padded);
    copy_rows(v, v_, value_, padded);
    for (int64_t t = 0; t < key_tiles_; ++t) {
      const HeadRows<In> tile = cut(k, t * kKeys, kKeys);
      Tile* to = k_transposed_ + t * key_ * kKeyStride;
      copy_transposed(tile, to, kKeyStride, key_, round_up(tile.rows, kKeyStep));
    }
  }

  void load_queries() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const HeadRows<In> q = rows(args_.query, args_.heads, head_, args_.key_dim, 0);
    const HeadRows<In> d_out =
        rows(args_.grad_out, args_.heads, head_, args_.value_dim, 0);
    const HeadRows<In> out = rows(args_.out, args_.heads, head_, args_.value_dim, 0);
    const int64_t padded = round_up(task_.length, kQueryStep);
    pack_rows(q, q_rows_, key_, padded);
    pack_rows(d_out, d_out_rows_, value_, padded);
    for (int64_t t = 0; t < query_tiles_; ++t) {
      const int64_t columns = smaller(kQueries, padded - t * kQueries);
      pack_columns(
          cut(q, t * kQueries, kQueries),
          q_columns_ + t * depth_k_ * kQueryStride,
          kQueryStride,
          depth_k_,
          columns);
      pack_columns(
          cut(d_out, t * kQueries, kQueries),
          d_out_columns_ + t * depth_v_ * kQueryStride,
          kQueryStride,
          depth_v_,
          columns);
    }
    dot_rows(out, d_out, delta_);
    const float* lse = args_.log_sum_exp + head_ * args_.num_tokens + task_.row;
    for (int64_t r = 0; r < padded; ++r) {
      log_sum_exp_[r] = r < task_.length ? lse[r] : kInfinity;
      delta_[r] = r < task_.length ? delta_[r] : 0;
    }
  }

  // grad_k and grad_v: [kKeys, width], of this key tile and head.
  void run_tile(int64_t key_tile, int64_t query_tile, float* grad_k, float* grad_v) {
    const int64_t k0 = key_tile * kKeys;
    const int64_t q0 = query_tile * kQueries;
    const int64_t queries = smaller(kQueries, round_up(task_.length - q0, kQueryStep));
    const int64_t all_keys = smaller(kKeys, round_up(task_.length - k0, kKeyStep));
    const int64_t keys = smaller(all_keys, q0 + queries - k0);
    brgemm(
        {keys, queries, depth_k_, key_, kQueryStride, kQueryStride},
        false,
        k_ + k0 * key_,
        q_columns_ + query_tile * depth_k_ * kQueryStride,
        tile_.scores);
    brgemm(
        {keys, queries, depth_v_, value_, kQueryStride, kQueryStride},
        false,
        v_ + k0 * value_,
        d_out_columns_ + query_tile * depth_v_ * kQueryStride,
        tile_.d_weights);
    weigh(
        tile_,
        {log_sum_exp_ + q0, delta_ + q0, args_.scale * kLog2E},
        k0 - q0,
        keys,
        queries);

    // The first query tile of a key tile may end before the key tile does.
    const bool first = q0 == k0;
    if (first) {
      std::memset(grad_k + keys * key_, 0, sizeof(float) * (all_keys - keys) * key_);
      std::memset(grad_v + keys * value_, 0, sizeof(float) * (all_keys - keys) * value_);
    }
    brgemm(
        {keys, value_, queries, kQueryStrideA, value_, value_},
        !first,
        tile_.p,
        d_out_rows_ + q0 * value_,
        grad_v);
    brgemm(
        {keys, key_, queries, kQueryStrideA, key_, key_},
        !first,
        tile_.d_scores,
        q_rows_ + q0 * key_,
        grad_k);
    brgemm(
        {key_, queries, keys, kKeyStride, ScoreTile<Tile>::kStrideB, kQueryStride},
        /*accumulate=*/key_tile > 0,
        k_transposed_ + key_tile * key_ * kKeyStride,
        tile_.d_scores_b,
        grad_q_ + query_tile * key_ * kQueryStride);
  }

  // dQ^T is turned tile by tile.
  void store_grad_query() {
    auto* to = static_cast<In*>(args_.grad_query);
    for (int64_t r = 0; r < task_.length; r += kLanes) {
      const float* tile = grad_q_ + r / kQueries * key_ * kQueryStride + r % kQueries;
      for (int64_t c = 0; c < args_.key_dim; c += kLanes) {
        F16 block[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          block[i] = load(tile + (c + i) * kQueryStride);
        }
        transpose16(block);
        const auto left = static_cast<int>(smaller(kLanes, args_.key_dim - c));
        for (int64_t i = 0; i < smaller(kLanes, task_.length - r); ++i) {
          const int64_t row = (task_.row + r + i) * args_.heads + head_;
          store_first(to + row * args_.key_dim + c, block[i] * splat(args_.scale), left);
        }
      }
    }
  }

  void store_grad_key_value() {
    for (int64_t r = 0; r < task_.length; ++r) {
      const int64_t row = task_.row + r;
      const float* grad_k = group_grad_k_ + r * key_;
      const float* grad_v = group_grad_v_ + r * value_;
      if (args_.head_grad_key != nullptr) {
        const int64_t to = task_.head * args_.num_tokens + row;
        store_scaled(grad_k, 1, args_.head_grad_key + to * args_.key_dim, args_.key_dim);
        store_scaled(
            grad_v, 1, args_.head_grad_value + to * args_.value_dim, args_.value_dim);
      } else {
        const int64_t to = row * args_.kv_heads + task_.head / group_;
        auto* key = static_cast<In*>(args_.grad_key) + to * args_.key_dim;
        auto* value = static_cast<In*>(args_.grad_value) + to * args_.value_dim;
        store_scaled(grad_k, args_.scale, key, args_.key_dim);
        store_scaled(grad_v, 1, value, args_.value_dim);
      }
    }
  }

  const AttentionBackward& args_;
  const AttentionBackwardTask& task_;
  int64_t group_;              // query heads of a key-value head
  int64_t depth_k_, depth_v_;  // contracted lengths of S and dP
  int64_t key_, value_;        // padded widths of rows
  int64_t query_tiles_, key_tiles_;
  int64_t head_ = 0;  // the query head at work

  // The document's keys and values, row-major, and K^T by key tile.
  Tile* k_ = nullptr;
  Tile* v_ = nullptr;
  Tile* k_transposed_ = nullptr;
  // One head's queries and output gradients as B operands: contracted over columns (by
  // query tile) and over rows.
  Tile* q_columns_ = nullptr;
  Tile* d_out_columns_ = nullptr;
  Tile* q_rows_ = nullptr;
  Tile* d_out_rows_ = nullptr;
  float* log_sum_exp_ = nullptr;  // to base 2; +inf, hence P = 0, at padding
  float* delta_ = nullptr;        // sum of out * d_out
  ScoreTile<Tile> tile_{};
  // Sums: dQ^T by query tile; dK and dV of the group by row, of a later head for one key
  // tile.
  float* grad_q_ = nullptr;
  float* group_grad_k_ = nullptr;
  float* group_grad_v_ = nullptr;
  float* grad_k_ = nullptr;
  float* grad_v_ = nullptr;
};

// to[row] = factor * sum over the group's heads of from[head, row].
template <class Out>
void add_heads(
    const AttentionBackward& args,
    int64_t row,
    const float* from,
    int64_t width,
    float factor,
    Out* to) {
  const int64_t group = args.heads / args.kv_heads;
  for (int64_t kv_head = 0; kv_head < args.kv_heads; ++kv_head) {
    for (int64_t c = 0; c < width; c += kLanes) {
      const auto left = static_cast<int>(smaller(kLanes, width - c));
      const auto part = [&](int64_t i) {
        const int64_t head = kv_head * group + i;
        return load_first(from + (head * args.num_tokens + row) * width + c, left);
      };
      F16 sum = part(0);
      for (int64_t i = 1; i < group; ++i) {
        sum = sum + part(i);
      }
      store_first(
          to + (row * args.kv_heads + kv_head) * width + c, sum * splat(factor), left);
    }
  }
}

template <class In>
void add_all_heads(const AttentionBackward& args, int64_t begin, int64_t end) {
  auto* key = static_cast<In*>(args.grad_key);
  auto* value = static_cast<In*>(args.grad_value);
  for (int64_t row = begin; row < end; ++row) {
    add_heads(args, row, args.head_grad_key, args.key_dim, args.scale, key);
    add_heads(args, row, args.head_grad_value, args.value_dim, 1, value);
  }
}

}  // namespace

void attention_backward(
    const AttentionBackward& args, const AttentionBackwardTask& task) {
  if (args.bf16) {
    BackwardTask<Bf16>(args, task).run();
  } else {
    BackwardTask<float>(args, task).run();
  }
}

void attention_add_heads(const AttentionBackward& args, int64_t begin, int64_t end) {
  args.bf16 ? add_all_heads<Bf16>(args, begin, end)
            : add_all_heads<float>(args, begin, end);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
