#include "titan/ops/cpu/attention_backward.h"

#include <cstring>

#include "titan/ops/cpu/attention_scores.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Tiles at a sequence's end are cut at multiples of these.
constexpr int64_t kQueryStep = 64;
constexpr int64_t kKeyStep = 32;

constexpr int64_t kKeyStride = kScoreKeys + 2 * kSkew;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Padded widths of rows and contracted lengths for one call's head sizes.
template <class Tile>
struct Widths {
  explicit Widths(const AttentionTensors& tensors)
      : depth_k(depth_of<Tile>(tensors.key.width)),
        depth_v(depth_of<Tile>(tensors.value.width)),
        key(round_up(depth_k, kLanes)),
        value(round_up(depth_v, kLanes)) {}

  int64_t depth_k, depth_v;
  int64_t key, value;
};

template <class Out>
void store_scaled(const float* from, float factor, Out* to, int64_t width) {
  for (int64_t c = 0; c < width; c += kLanes) {
    const auto left = static_cast<int>(smaller(kLanes, width - c));
    store_first(to + c, load_first(from + c, left) * splat(factor), left);
  }
}

// What a task keeps of one key tile. Row r stands at position first + r.
template <class Tile>
struct KeyTile {
  int64_t first;
  int64_t begin, end;  // the rows there are
  Tile* k;             // row-major
  Tile* v;
  Tile* k_transposed;
  float* grad_k;
  float* grad_v;
};

template <class In>
class BackwardTask {
 public:
  using Tile = TileOf<In>;

  BackwardTask(const AttentionBackward& args, int64_t key_tiles, void* storage)
      : args_(args),
        group_(args.tensors.heads / args.tensors.kv_heads),
        widths_(args.tensors),
        scale_(args.rule) {
    Carver carver(storage);
    const auto& [depth_k, depth_v, key, value] = widths_;
    q_columns_ = carver.take<Tile>(depth_k * kQueryStride);
    d_out_columns_ = carver.take<Tile>(depth_v * kQueryStride);
    q_rows_ = carver.take<Tile>(kScoreQueries * key);
    d_out_rows_ = carver.take<Tile>(kScoreQueries * value);
    log_sum_exp_ = carver.take<float>(kScoreQueries);
    delta_ = carver.take<float>(kScoreQueries);
    tile_.scores = carver.take<float>(kScoreKeys * kQueryStride);
    tile_.d_weights = carver.take<float>(kScoreKeys * kQueryStride);
    tile_.p = carver.take<Tile>(kScoreKeys * kQueryStrideA);
    tile_.d_scores = carver.take<Tile>(kScoreKeys * kQueryStrideA);
    tile_.d_scores_b = ScoreTile<Tile>::kInterleaved
                           ? carver.take<Tile>(kScoreKeys * kQueryStride)
                           : tile_.d_scores;
    grad_q_ = carver.take<float>(key * kQueryStride);
    key_storage_ = carver.take<char>(0);
    carver.take<char>(key_tiles * static_cast<int64_t>(key_tile_bytes()));
    size_ = carver.size();
  }

  [[nodiscard]] size_t size() const { return size_; }

  void run(const AttentionBackwardTask& task) {
    const AttentionBackwardUnit& unit = *task.unit;
    for (int64_t t = task.key_tile_begin; t < task.key_tile_end; ++t) {
      load_keys(unit, key_tile(task, t));
    }
    for (int64_t h = 0; h < group_; ++h) {
      for (int64_t i = 0; i < unit.num_tiles; ++i) {
        const AttentionQueryTile& queries = unit.tiles[i];
        const int64_t begin = larger(task.key_tile_begin, queries.key_tile_begin);
        const int64_t end = smaller(task.key_tile_end, queries.key_tile_end);
        if (begin < end) {
          load_queries(queries, unit.kv_head * group_ + h);
          run_queries(task, queries, h * unit.num_tiles + i, {begin, end});
        }
      }
    }
    for (int64_t t = task.key_tile_begin; t < task.key_tile_end; ++t) {
      store_grad_key_value(unit, key_tile(task, t));
    }
  }

 private:
  size_t carve_key_tile(Carver& carver, KeyTile<Tile>& tile) const {
    tile.k = carver.take<Tile>(kScoreKeys * widths_.key);
    tile.v = carver.take<Tile>(kScoreKeys * widths_.value);
    tile.k_transposed = carver.take<Tile>(widths_.key * kKeyStride);
    tile.grad_k = carver.take<float>(kScoreKeys * widths_.key);
    tile.grad_v = carver.take<float>(kScoreKeys * widths_.value);
    return carver.size();
  }

  [[nodiscard]] size_t key_tile_bytes() const {
    Carver measure(nullptr);
    KeyTile<Tile> tile{};
    return carve_key_tile(measure, tile);
  }

  // Key tile t, counted from the sequence's position 0.
  [[nodiscard]] KeyTile<Tile> key_tile(
      const AttentionBackwardTask& task, int64_t t) const {
    const PositionRange keys = task.unit->keys;
    KeyTile<Tile> tile{};
    tile.first = t * kScoreKeys;
    tile.begin = larger(0, keys.begin - tile.first);
    tile.end = smaller(kScoreKeys, keys.end - tile.first);
    Carver carver(
        key_storage_ +
        (t - task.key_tile_begin) * static_cast<int64_t>(key_tile_bytes()));
    carve_key_tile(carver, tile);
    return tile;
  }

  void load_keys(const AttentionBackwardUnit& unit, const KeyTile<Tile>& tile) const {
    const AttentionTensors& t = args_.tensors;
    const In* k[kScoreKeys] = {};
    const In* v[kScoreKeys] = {};
    for (int64_t r = tile.begin; r < tile.end; ++r) {
      const int64_t row = unit.key_row + tile.first + r - unit.keys.begin;
      k[r] = row_of<In>(t.key, row, unit.kv_head);
      v[r] = row_of<In>(t.value, row, unit.kv_head);
    }
    const int64_t padded = round_up(tile.end, kKeyStep);
    const RowTable<In> keys{k, tile.end, t.key.width};
    const RowTable<In> values{v, tile.end, t.value.width};
    copy_rows(keys, tile.k, widths_.key, padded);
    copy_rows(values, tile.v, widths_.value, padded);
    copy_transposed(keys, tile.k_transposed, kKeyStride, widths_.key, padded);
    std::memset(tile.grad_k, 0, sizeof(float) * kScoreKeys * widths_.key);
    std::memset(tile.grad_v, 0, sizeof(float) * kScoreKeys * widths_.value);
  }

  void load_queries(const AttentionQueryTile& tile, int64_t head) {
    const AttentionTensors& t = args_.tensors;
    const In* q[kScoreQueries];
    const In* d_out[kScoreQueries];
    const int64_t padded = round_up(tile.rows, kQueryStep);
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = (tile.row + r) * t.heads + head;
      q[r] = row_of<In>(t.query, tile.row + r, head);
      d_out[r] = static_cast<const In*>(args_.grad_out) + row * t.value.width;
      // A row that sees nothing has -inf here, and every score of it is masked.
      const float lse = args_.log_sum_exp[row] * kLog2E;
      log_sum_exp_[r] = lse == kMinusInfinity ? kInfinity : lse;
      delta_[r] = args_.delta[row];
    }
    for (int64_t r = tile.rows; r < padded; ++r) {
      log_sum_exp_[r] = kInfinity;
      delta_[r] = 0;
    }
    const RowTable<In> queries{q, tile.rows, t.query.width};
    const RowTable<In> d_outs{d_out, tile.rows, t.value.width};
    pack_rows(queries, q_rows_, widths_.key, padded);
    pack_rows(d_outs, d_out_rows_, widths_.value, padded);
    pack_columns(queries, q_columns_, kQueryStride, widths_.depth_k, padded);
    pack_columns(d_outs, d_out_columns_, kQueryStride, widths_.depth_v, padded);
  }

  // One query tile and head against the key tiles `range` of the task.
  void run_queries(
      const AttentionBackwardTask& task,
      const AttentionQueryTile& queries,
      int64_t index,
      PositionRange range) {
    const AttentionBackwardUnit& unit = *task.unit;
    float* grad_q = unit.grad_query == nullptr
                        ? grad_q_
                        : unit.grad_query + index * widths_.key * kQueryStride;
    for (int64_t t = range.begin; t < range.end; ++t) {
      const KeyTile<Tile> keys = cut(key_tile(task, t), queries);
      const int64_t num_keys = round_up(keys.end, kKeyStep);
      weigh(queries, keys, num_keys);
      if (t == range.begin && unit.turns != nullptr) {
        unit.turns[index].await(static_cast<int32_t>(t - queries.key_tile_begin));
      }
      brgemm(
          {widths_.key,
           round_up(queries.rows, kQueryStep),
           num_keys,
           kKeyStride,
           ScoreTile<Tile>::kStrideB,
           kQueryStride},
          /*accumulate=*/t > queries.key_tile_begin,
          keys.k_transposed,
          tile_.d_scores_b,
          grad_q);
    }
    if (range.end == queries.key_tile_end) {
      store_grad_query(queries, grad_q, unit.kv_head * group_ + index / unit.num_tiles);
    } else {
      unit.turns[index].advance(static_cast<int32_t>(range.end - queries.key_tile_begin));
    }
  }

  // The part of a key tile that the queries see, from a multiple of kKeyStep on.
  KeyTile<Tile> cut(KeyTile<Tile> tile, const AttentionQueryTile& queries) const {
    const PositionRange seen = queries.keys;
    const int64_t skip = round_down(larger(0, seen.begin - tile.first), kKeyStep);
    return {
        tile.first + skip,
        larger(0, tile.begin - skip),
        smaller(tile.end, seen.end - tile.first) - skip,
        tile.k + skip * widths_.key,
        tile.v + skip * widths_.value,
        tile.k_transposed + skip,
        tile.grad_k + skip * widths_.key,
        tile.grad_v + skip * widths_.value};
  }

  // Recomputes P^T and dS^T of a score tile and adds its share of dK and dV.
  void weigh(
      const AttentionQueryTile& queries, const KeyTile<Tile>& keys, int64_t num_keys) {
    const int64_t columns = round_up(queries.rows, kQueryStep);
    brgemm(
        {num_keys, columns, widths_.depth_k, widths_.key, kQueryStride, kQueryStride},
        /*accumulate=*/false,
        keys.k,
        q_columns_,
        tile_.scores);
    brgemm(
        {num_keys, columns, widths_.depth_v, widths_.value, kQueryStride, kQueryStride},
        /*accumulate=*/false,
        keys.v,
        d_out_columns_,
        tile_.d_weights);
    const ScoreBand band = score_band(queries, keys);
    if (scale_.capped) {
      ScoreWeigher<Tile, true>(tile_, {log_sum_exp_, delta_}, scale_, band)
          .run(num_keys, columns);
    } else {
      ScoreWeigher<Tile, false>(tile_, {log_sum_exp_, delta_}, scale_, band)
          .run(num_keys, columns);
    }
    brgemm(
        {num_keys, widths_.value, columns, kQueryStrideA, widths_.value, widths_.value},
        /*accumulate=*/true,
        tile_.p,
        d_out_rows_,
        keys.grad_v);
    brgemm(
        {num_keys, widths_.key, columns, kQueryStrideA, widths_.key, widths_.key},
        /*accumulate=*/true,
        tile_.d_scores,
        q_rows_,
        keys.grad_k);
  }

  [[nodiscard]] ScoreBand score_band(
      const AttentionQueryTile& queries, const KeyTile<Tile>& keys) const {
    constexpr int64_t kFar = int64_t{1} << 40;
    const int64_t offset = keys.first - queries.position;
    const int64_t window = args_.rule.window;
    return {
        args_.rule.causal ? offset : -kFar,
        window > 0 ? offset + window : kFar,
        keys.begin,
        keys.end};
  }

  void store_grad_query(
      const AttentionQueryTile& tile, const float* grad_q, int64_t head) const {
    const int64_t width = args_.tensors.query.width;
    const F16 scale = splat(static_cast<float>(args_.rule.scale));
    auto* to = static_cast<In*>(args_.grad_query);
    for (int64_t r = 0; r < tile.rows; r += kLanes) {
      for (int64_t c = 0; c < width; c += kLanes) {
        F16 block[kLanes];
        for (int64_t i = 0; i < kLanes; ++i) {
          block[i] = load(grad_q + (c + i) * kQueryStride + r);
        }
        transpose16(block);
        const auto left = static_cast<int>(smaller(kLanes, width - c));
        for (int64_t i = 0; i < smaller(kLanes, tile.rows - r); ++i) {
          const int64_t row = (tile.row + r + i) * args_.tensors.heads + head;
          store_first(to + row * width + c, block[i] * scale, left);
        }
      }
    }
  }

  void store_grad_key_value(
      const AttentionBackwardUnit& unit, const KeyTile<Tile>& tile) const {
    const AttentionTensors& t = args_.tensors;
    const auto scale = static_cast<float>(args_.rule.scale);
    for (int64_t r = tile.begin; r < tile.end; ++r) {
      const int64_t row = unit.key_row + tile.first + r - unit.keys.begin;
      const int64_t to = row * t.kv_heads + unit.kv_head;
      store_scaled(
          tile.grad_k + r * widths_.key,
          scale,
          static_cast<In*>(args_.grad_key) + to * t.key.width,
          t.key.width);
      store_scaled(
          tile.grad_v + r * widths_.value,
          1,
          static_cast<In*>(args_.grad_value) + to * t.value.width,
          t.value.width);
    }
  }

  const AttentionBackward& args_;
  int64_t group_;  // query heads of a key-value head
  Widths<Tile> widths_;
  ScoreScale scale_;
  size_t size_;

  // The query tile at work as B operands: contracted over columns and over rows.
  Tile* q_columns_;
  Tile* d_out_columns_;
  Tile* q_rows_;
  Tile* d_out_rows_;
  float* log_sum_exp_;
  float* delta_;
  ScoreTile<Tile> tile_{};
  float* grad_q_;  // dQ^T, where no other task adds to it
  char* key_storage_;
};

template <class In>
void write_delta(const AttentionBackward& args, int64_t begin, int64_t end) {
  const int64_t width = args.tensors.value.width;
  const int64_t heads = args.tensors.heads;
  for (int64_t r = begin * heads; r < end * heads; ++r) {
    const In* out = static_cast<const In*>(args.out) + r * width;
    const In* d_out = static_cast<const In*>(args.grad_out) + r * width;
    F16 sum = splat(0);
    for (int64_t c = 0; c < width; c += kLanes) {
      sum = fma(load_columns(out, width, c), load_columns(d_out, width, c), sum);
    }
    args.delta[r] = reduce_add(sum);
  }
}

}  // namespace

AttentionBackwardTiling attention_backward_tiling() {
  return {kScoreQueries, kScoreKeys};
}

size_t attention_backward_bytes(const AttentionBackward& args, int64_t key_tiles) {
  return args.tensors.bf16 ? BackwardTask<Bf16>(args, key_tiles, nullptr).size()
                           : BackwardTask<float>(args, key_tiles, nullptr).size();
}

int64_t attention_grad_query_size(const AttentionBackward& args) {
  const int64_t width = args.tensors.bf16 ? Widths<TileOf<Bf16>>(args.tensors).key
                                          : Widths<float>(args.tensors).key;
  return width * kQueryStride;
}

void attention_delta(const AttentionBackward& args, int64_t begin, int64_t end) {
  args.tensors.bf16 ? write_delta<Bf16>(args, begin, end)
                    : write_delta<float>(args, begin, end);
}

void attention_backward(
    const AttentionBackward& args, const AttentionBackwardTask& task, void* storage) {
  const int64_t key_tiles = task.key_tile_end - task.key_tile_begin;
  if (args.tensors.bf16) {
    BackwardTask<Bf16>(args, key_tiles, storage).run(task);
  } else {
    BackwardTask<float>(args, key_tiles, storage).run(task);
  }
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
