#include "titan/ops/cpu/attention_forward.h"

#include <cstring>

#include "titan/ops/cpu/attention_softmax.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Scratch slots of this file.
constexpr int kTaskSlot = 8;
constexpr int kKeySlot = 9;
constexpr int kRowSlot = 11;

template <class Tile>
constexpr AttentionTiling kTiling = sizeof(Tile) == sizeof(float)
                                        ? AttentionTiling{64, 256}
                                        : AttentionTiling{128, 512};

// Products begin and end at multiples of this many keys: zero padding of P and V leaves
// the bits alone, and few lengths mean few kernels to generate.
constexpr int64_t kKeyStep = 64;

// Leading dimensions and depths for one call's head sizes.
template <class Tile>
struct Strides {
  explicit Strides(const AttentionTensors& tensors)
      : depth(depth_of<Tile>(tensors.key.width)),
        query(round_up(depth, kLanes)),
        value(round_up(tensors.value.width, kLanes)) {}

  static constexpr int64_t kKeys = kTiling<Tile>.keys;
  int64_t depth;  // of Q K^T
  int64_t query;  // of queries and of unpacked keys
  int64_t value;  // of V and of the output accumulator
  static constexpr int64_t key = kKeys + kSkew;
  static constexpr int64_t score = kKeys + kSkew;
  static constexpr int64_t weight = kKeys + 2 * kSkew;
};

// A packed key tile: K^T [depth, keys] and V [keys, value].
template <class Tile>
struct KeyTile {
  KeyTile(Carver& carver, const Strides<Tile>& strides)
      : key(carver.take<Tile>(strides.depth * strides.key)),
        value(carver.take<Tile>(strides.kKeys * strides.value)),
        finite(carver.take<bool>(1)) {}

  Tile* key;
  Tile* value;
  bool* finite;  // every value is
};

// Where the rows of one key tile stand.
template <class In>
class TileRows {
 public:
  static constexpr int64_t kKeys = kTiling<TileOf<In>>.keys;

  TileRows(const HeadTensor& tensor, const AttentionKeys& keys, int64_t first)
      : width_(tensor.width) {
    const int64_t end = smaller(first + kKeys, keys.range.end);
    int64_t p = larger(first, keys.range.begin);
    for (int64_t c = 0; c < p - first; ++c) {
      rows_[c] = nullptr;
    }
    while (p < end) {
      const KeyRun run = keys.rows.run({p, end});
      for (int64_t i = 0; i < run.length; ++i) {
        rows_[p - first + i] = row_of<In>(tensor, run.row + i, keys.kv_head);
      }
      p += run.length;
    }
    for (int64_t c = larger(0, end - first); c < kKeys; ++c) {
      rows_[c] = nullptr;
    }
  }

  // From row `skip` of the tile on.
  [[nodiscard]] RowTable<In> from(int64_t skip) const {
    return {rows_ + skip, kKeys - skip, width_};
  }

 private:
  const In* rows_[kKeys];
  int64_t width_;
};

template <class In>
bool all_finite(const RowTable<In>& x) {
  F16 zero = splat(0);  // 0 * x is NaN for infinities and NaN
  for (int64_t r = 0; r < x.count; ++r) {
    const In* row = x.row(r);
    for (int64_t c = 0; row != nullptr && c < x.width; c += kLanes) {
      zero = fma(splat(0), load_columns(row, x.width, c), zero);
    }
  }
  return reduce_add(zero) == 0;
}

template <class In>
void pack_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t index, void* to) {
  using Tile = TileOf<In>;
  const Strides<Tile> strides(args.tensors);
  Carver carver(to);
  const KeyTile<Tile> tile(carver, strides);
  const int64_t first = index * strides.kKeys;
  const int64_t end = round_up(smaller(strides.kKeys, keys.range.end - first), kKeyStep);
  const TileRows<In> key(args.tensors.key, keys, first);
  const TileRows<In> value(args.tensors.value, keys, first);
  pack_columns(key.from(0), tile.key, strides.key, strides.depth, end);
  pack_rows(value.from(0), tile.value, strides.value, end);
  *tile.finite = all_finite(value.from(0));
}

template <class Tile>
size_t tile_bytes(const AttentionForward& args) {
  Carver measure(nullptr);
  const KeyTile<Tile> tile(measure, Strides<Tile>(args.tensors));
  return measure.size();
}

void scale_row(float* row, int64_t count, float factor) {
  for (int64_t c = 0; c < count; c += kLanes) {
    store(row + c, load(row + c) * splat(factor));
  }
}

// Any rows brgemm is given for `rows`: few different counts, each a kernel to
// generate.
int64_t padded_rows(int64_t rows) {
  int64_t power = 1;
  while (power < rows && power < kLanes) {
    power *= 2;
  }
  return rows <= kLanes ? power : round_up(rows, kLanes);
}

template <class In>
class ForwardTask {
 public:
  using Tile = TileOf<In>;

  ForwardTask(
      const AttentionForward& args, const AttentionKeys& keys, const AttentionTask& task)
      : args_(args),
        keys_(keys),
        task_(task),
        strides_(args.tensors),
        scale_(args.rule),
        rows_(task.rows * task.heads),
        padded_(padded_rows(rows_)),
        few_(rows_ <= kFewQueries && keys.packed == nullptr) {
    Carver measure(nullptr);
    carve(measure);
    Carver carver(scratch(kTaskSlot, measure.size()));
    carve(carver);
  }

  void run() {
    load_queries();
    const PositionRange seen{visible(0).begin, visible(task_.rows - 1).end};
    for (int64_t first = round_down(seen.begin, kKeys); first < seen.end;
         first += kKeys) {
      first_ = first;
      skip_ = larger(0, round_down(seen.begin - first, kKeyStep));
      count_ = smaller(kKeys, round_up(seen.end - first, kKeyStep));
      add_tile();
      started_ = true;
    }
    if (!started_) {
      std::memset(out_, 0, sizeof(float) * rows_ * strides_.value);
    }
    store_rows();
  }

 private:
  static constexpr int64_t kKeys = Strides<Tile>::kKeys;

  void carve(Carver& carver) {
    query_ = carver.take<Tile>(padded_ * strides_.query);
    scores_ = carver.take<float>(padded_ * strides_.score);
    weights_ = carver.take<Tile>(padded_ * strides_.weight);
    out_ = carver.take<float>(padded_ * strides_.value);
    state_ = carver.take<SoftmaxState>(rows_);
    if (few_) {
      query_columns_ = carver.take<Tile>(round_up(strides_.query, 2) * kLanes);
      key_rows_ = carver.take<Tile>(kKeys * strides_.query);
      turned_ = carver.take<float>(kKeys * kLanes);
    }
  }

  // Task rows run over query rows, and over the task's heads within each.
  void load_queries() {
    const In* table[kTiling<Tile>.queries];
    for (int64_t i = 0, r = 0; i < task_.rows; ++i) {
      for (int64_t h = 0; h < task_.heads; ++h, ++r) {
        table[r] = row_of<In>(args_.tensors.query, task_.query_row + i, task_.head + h);
        state_[r] = SoftmaxState();
      }
    }
    const RowTable<In> queries{table, rows_, args_.tensors.query.width};
    if (few_) {
      pack_columns(queries, query_columns_, kLanes, strides_.depth, kLanes);
    } else {
      copy_rows(queries, query_, strides_.query, padded_);
    }
    std::memset(
        weights_ + rows_ * strides_.weight,
        0,
        sizeof(Tile) * (padded_ - rows_) * strides_.weight);
  }

  // Positions of the keys that query row i of the task sees.
  [[nodiscard]] PositionRange visible(int64_t i) const {
    return args_.rule.visible(task_.position + i, keys_.range);
  }

  // The same as columns of the tile.
  [[nodiscard]] ScoreColumns columns(int64_t i) const {
    const PositionRange seen = visible(i);
    return {
        skip_,
        larger(skip_, seen.begin - first_),
        smaller(count_, seen.end - first_),
        count_};
  }

  void add_tile() {
    KeyTile<Tile> tile = tile_storage();
    if (few_) {
      score_few();
    } else {
      brgemm(
          {padded_,
           count_ - skip_,
           strides_.depth,
           strides_.query,
           strides_.key,
           strides_.score},
          /*accumulate=*/false,
          query_,
          tile.key + skip_ * kInterleaved,
          scores_ + skip_);
    }
    softmax();
    if (all_see_all() || *tile.finite) {
      multiply(0, padded_, tile.value);
    } else {
      multiply_row_by_row();
    }
  }

  // The packed tile at first_; of few queries' only V.
  KeyTile<Tile> tile_storage() {
    const size_t bytes = tile_bytes<Tile>(args_);
    if (keys_.packed != nullptr) {
      const int64_t index = first_ / kKeys - keys_.range.begin / kKeys;
      Carver carver(static_cast<char*>(const_cast<void*>(keys_.packed)) + index * bytes);
      return {carver, strides_};
    }
    void* own = scratch(kKeySlot, bytes);
    Carver carver(own);
    KeyTile<Tile> tile(carver, strides_);
    if (few_) {
      const TileRows<In> value(args_.tensors.value, keys_, first_);
      pack_rows(
          value.from(skip_),
          tile.value + skip_ * strides_.value,
          strides_.value,
          count_ - skip_);
      *tile.finite = all_see_all() || all_finite(value.from(0));
    } else {
      pack_tile<In>(args_, keys_, first_ / kKeys, own);
    }
    return tile;
  }

  // Products as K Q^T: rows of keys are copied, not turned. Same bits: each product is
  // the same chain of additions.
  void score_few() {
    const TileRows<In> key(args_.tensors.key, keys_, first_);
    const int64_t count = count_ - skip_;
    copy_rows(key.from(skip_), key_rows_, strides_.query, count);
    brgemm(
        {count, kLanes, strides_.depth, strides_.query, kLanes, kLanes},
        /*accumulate=*/false,
        key_rows_,
        query_columns_,
        turned_);
    for (int64_t c = 0; c < count; c += kLanes) {
      F16 block[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        block[i] = load(turned_ + (c + i) * kLanes);
      }
      transpose16(block);
      for (int64_t r = 0; r < rows_; ++r) {
        store(scores_ + r * strides_.score + skip_ + c, block[r]);
      }
    }
  }

  void softmax() {
    for (int64_t i = 0, r = 0; i < task_.rows; ++i) {
      const ScoreColumns seen = columns(i);
      for (int64_t h = 0; h < task_.heads; ++h, ++r) {
        const float alpha = softmax_row(
            scores_ + r * strides_.score,
            weights_ + r * strides_.weight,
            seen,
            scale_,
            state_[r]);
        if (started_ && alpha != 1.0F) {
          scale_row(out_ + r * strides_.value, strides_.value, alpha);
        }
      }
    }
  }

  // Whether every row of the task sees every key of the tile that there is.
  [[nodiscard]] bool all_see_all() const {
    const PositionRange there = keys_.range;
    return visible(0).end >= smaller(first_ + count_, there.end) &&
           visible(task_.rows - 1).begin <= larger(first_ + skip_, there.begin);
  }

  // Adds P V for the task rows [row, row + rows).
  void multiply(int64_t row, int64_t rows, const Tile* value) {
    brgemm(
        {rows,
         strides_.value,
         count_ - skip_,
         strides_.weight,
         strides_.value,
         strides_.value},
        /*accumulate=*/started_,
        weights_ + row * strides_.weight + skip_,
        value + skip_ * strides_.value,
        out_ + row * strides_.value);
  }

  // 0 * inf is NaN: a value that is not finite would reach rows whose weight for it is
  // masked. So each query row gets a copy of V with the keys that it sees.
  void multiply_row_by_row() {
    const TileRows<In> all(args_.tensors.value, keys_, first_);
    const In* seen[kKeys] = {};
    const RowTable<In> table{seen, kKeys, args_.tensors.value.width};
    auto* value = scratch_of<Tile>(kRowSlot, kKeys * strides_.value);
    std::memset(value, 0, sizeof(Tile) * kKeys * strides_.value);
    for (int64_t i = 0; i < task_.rows; ++i) {
      const ScoreColumns row = columns(i);
      for (int64_t c = 0; c < kKeys; c += 2) {
        const bool changed =
            show(all.from(0), row, c, seen) | show(all.from(0), row, c + 1, seen);
        if (changed) {
          const RowTable<In> pair{seen + c, 2, table.width};
          pack_rows(pair, value + c * strides_.value, strides_.value, 2);
        }
      }
      multiply(i * task_.heads, task_.heads, value);
    }
  }

  // Makes key c of the tile part of `seen` or not; true where that changed.
  static bool show(
      const RowTable<In>& all, const ScoreColumns& row, int64_t c, const In** seen) {
    const In* now = c >= row.begin && c < row.end ? all.row(c) : nullptr;
    const bool changed = seen[c] != now;
    seen[c] = now;
    return changed;
  }

  void store_rows() {
    for (int64_t i = 0, r = 0; i < task_.rows; ++i) {
      for (int64_t h = 0; h < task_.heads; ++h, ++r) {
        store_row(r, (task_.query_row + i) * args_.tensors.heads + task_.head + h);
      }
    }
  }

  // Row r of the task to row `to` of [T * heads]. The sink is one more score, without a
  // value.
  void store_row(int64_t r, int64_t to) {
    SoftmaxState state = state_[r];
    float alpha = 1;
    if (args_.sinks != nullptr) {
      const float sink = args_.sinks[to % args_.tensors.heads] * kLog2E;
      const float max = sink > state.max ? sink : state.max;
      alpha = std::exp2(state.max - max);
      state = {max, state.sum * alpha + std::exp2(sink - max)};
    }
    // A row without any key gives 0.
    const bool empty = state.max == kMinusInfinity && state.sum == 0;
    const F16 factor = splat(empty ? 0 : alpha / state.sum);
    const int64_t width = args_.tensors.value.width;
    const float* from = out_ + r * strides_.value;
    In* out = static_cast<In*>(args_.out) + to * width;
    for (int64_t c = 0; c < width; c += kLanes) {
      const auto left = static_cast<int>(smaller(kLanes, width - c));
      store_first(out + c, load(from + c) * factor, left);
    }
    constexpr float kLn2 = 0.693147180559945F;
    args_.log_sum_exp[to] = (state.max + std::log2(state.sum)) * kLn2;
  }

  const AttentionForward& args_;
  const AttentionKeys& keys_;
  const AttentionTask& task_;
  Strides<Tile> strides_;
  ScoreScale scale_;
  int64_t rows_;
  int64_t padded_;
  bool few_;  // queries: keys are read as they stand
  static constexpr int64_t kInterleaved = sizeof(float) / sizeof(Tile);

  Tile* query_ = nullptr;    // [padded, strides.query]
  float* scores_ = nullptr;  // [padded, strides.score]
  Tile* weights_ = nullptr;  // [padded, strides.weight]
  float* out_ = nullptr;     // [padded, strides.value]
  SoftmaxState* state_ = nullptr;
  Tile* query_columns_ = nullptr;  // Q^T as a B operand of 16 columns
  Tile* key_rows_ = nullptr;       // [keys, strides.query]
  float* turned_ = nullptr;        // [keys, 16], scores before they are turned

  // The key tile at work: positions from first_ on; its products cover the columns
  // [skip_, count_).
  int64_t first_ = 0;
  int64_t skip_ = 0;
  int64_t count_ = 0;
  bool started_ = false;  // a tile has been added to out_
};

}  // namespace

AttentionTiling attention_tiling(bool bf16) {
  return bf16 ? kTiling<TileOf<Bf16>> : kTiling<float>;
}

size_t attention_tile_bytes(const AttentionForward& args) {
  return args.tensors.bf16 ? tile_bytes<TileOf<Bf16>>(args) : tile_bytes<float>(args);
}

void attention_pack_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t tile, void* to) {
  args.tensors.bf16 ? pack_tile<Bf16>(args, keys, tile, to)
                    : pack_tile<float>(args, keys, tile, to);
}

void attention_forward(
    const AttentionForward& args, const AttentionKeys& keys, const AttentionTask& task) {
  if (args.tensors.bf16) {
    ForwardTask<Bf16>(args, keys, task).run();
  } else {
    ForwardTask<float>(args, keys, task).run();
  }
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
