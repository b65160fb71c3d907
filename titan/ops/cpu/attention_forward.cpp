#include "titan/ops/cpu/attention_forward.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "titan/ops/cpu/attention_tiles.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Scratch slots of this file.
constexpr int kTaskSlot = 8;
constexpr int kKeySlot = 9;

template <class Tile>
constexpr AttentionTiling kTiling = sizeof(Tile) == sizeof(float)
                                        ? AttentionTiling{64, 256}
                                        : AttentionTiling{128, 512};

// The second product is contracted over keys in multiples of this: longer zero padding of
// P and V leaves the bits alone, and few lengths mean few kernels to generate.
constexpr int64_t kKeyStep = 64;

// Leading dimensions and depths for one call's head sizes.
template <class Tile>
struct Strides {
  explicit Strides(const AttentionForward& args)
      : depth(depth_of<Tile>(args.key_dim)),
        query(round_up(depth, kLanes)),
        value(round_up(args.value_dim, kLanes)) {}

  static constexpr int64_t kKeys = kTiling<Tile>.keys;
  int64_t depth;  // of Q K^T
  int64_t query;
  int64_t value;  // of V and of the output accumulator
  static constexpr int64_t key = kKeys + kSkew;
  static constexpr int64_t score = kKeys + kSkew;
  static constexpr int64_t weight = kKeys + 2 * kSkew;
};

// One packed key tile: K^T [depth, keys] and V [keys, value].
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

template <class In>
HeadRows<In> rows_of_head(
    const void* tensor,
    int64_t row,
    int64_t rows,
    int64_t heads,
    int64_t head,
    int64_t width) {
  const auto* data = static_cast<const In*>(tensor);
  return {data + (row * heads + head) * width, heads * width, rows, width};
}

template <class In>
HeadRows<In> values_of_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t first) {
  const int64_t rows = smaller(kTiling<TileOf<In>>.keys, keys.num_keys - first);
  return rows_of_head<In>(
      args.value,
      keys.key_row + first,
      rows,
      args.kv_heads,
      keys.kv_head,
      args.value_dim);
}

template <class In>
bool all_finite(const HeadRows<In>& x) {
  F16 zero = splat(0);  // 0 * x is NaN for infinities and NaN
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.width; c += kLanes) {
      zero = fma(splat(0), load_columns(x, r, c), zero);
    }
  }
  return reduce_add(zero) == 0;
}

template <class In>
void pack_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t index, void* to) {
  using Tile = TileOf<In>;
  const Strides<Tile> strides(args);
  Carver carver(to);
  const KeyTile<Tile> tile(carver, strides);
  const int64_t first = index * strides.kKeys;
  const HeadRows<In> values = values_of_tile<In>(args, keys, first);
  const int64_t padded = round_up(values.rows, kKeyStep);
  pack_columns(
      rows_of_head<In>(
          args.key,
          keys.key_row + first,
          values.rows,
          args.kv_heads,
          keys.kv_head,
          args.key_dim),
      tile.key,
      strides.key,
      strides.depth,
      padded);
  pack_rows(values, tile.value, strides.value, padded);
  *tile.finite = all_finite(values);
}

template <class Tile>
size_t tile_bytes(const AttentionForward& args) {
  Carver measure(nullptr);
  const KeyTile<Tile> tile(measure, Strides<Tile>(args));
  return measure.size();
}

// One row of the online softmax. The first `valid` of the row's scores count; its weights
// 2^(scale * score - maximum) go to p, zero from `valid` to `padded`. Returns the factor
// for what has been summed under the former maximum. Sums run in fixed lanes, whatever is
// masked.
template <class Tile>
float softmax_row(
    const float* scores,
    Tile* p,
    int64_t valid,
    int64_t padded,
    float scale,
    float* max_and_sum) {
  constexpr int64_t kTwo = 2 * kLanes;
  const F16 lowest = splat(-std::numeric_limits<float>::infinity());
  F16 max_a = lowest;
  F16 max_b = lowest;
  const int64_t whole = valid / kTwo * kTwo;
  const int rest_a = static_cast<int>(smaller(valid - whole, kLanes));
  const int rest_b = static_cast<int>(valid - whole) - rest_a;
  for (int64_t j = 0; j < whole; j += kTwo) {
    max_a = max(max_a, load(scores + j));
    max_b = max(max_b, load(scores + j + kLanes));
  }
  if (whole < valid) {
    max_a = max(max_a, keep_first(load(scores + whole), rest_a, lowest));
    max_b = max(max_b, keep_first(load(scores + whole + kLanes), rest_b, lowest));
  }
  const float old_max = max_and_sum[0];
  const float tile_max = reduce_max(max(max_a, max_b)) * scale;
  const float new_max = tile_max > old_max ? tile_max : old_max;

  const F16 factor = splat(scale);
  const F16 offset = splat(-new_max);
  F16 sum_a = splat(0);
  F16 sum_b = splat(0);
  for (int64_t j = 0; j < whole; j += kTwo) {
    const F16 a = exp2_for<Tile>(fma(load(scores + j), factor, offset));
    const F16 b = exp2_for<Tile>(fma(load(scores + j + kLanes), factor, offset));
    sum_a = sum_a + a;
    sum_b = sum_b + b;
    store_two(p + j, a, b);
  }
  int64_t done = whole;
  if (whole < valid) {
    const F16 a = exp2_for<Tile>(fma(load(scores + whole), factor, offset));
    const F16 b = exp2_for<Tile>(fma(load(scores + whole + kLanes), factor, offset));
    const F16 kept_a = keep_first(a, rest_a, splat(0));
    const F16 kept_b = keep_first(b, rest_b, splat(0));
    sum_a = sum_a + kept_a;
    sum_b = sum_b + kept_b;
    store_two(p + whole, kept_a, kept_b);
    done += kTwo;
  }
  for (; done < padded; done += kTwo) {
    store_two(p + done, splat(0), splat(0));
  }
  const float alpha = new_max == old_max ? 1.0F : std::exp2(old_max - new_max);
  max_and_sum[0] = new_max;
  max_and_sum[1] = max_and_sum[1] * alpha + reduce_add(sum_a + sum_b);
  return alpha;
}

void scale_row(float* row, int64_t width, float factor) {
  for (int64_t c = 0; c < width; c += kLanes) {
    store(row + c, load(row + c) * splat(factor));
  }
}

// How many rows brgemm is given for `rows`: few different counts, each a kernel to
// generate.
int64_t padded_rows(int64_t rows) {
  int64_t power = 1;
  while (power < rows && power < kLanes) {
    power *= 2;
  }
  return rows <= kLanes ? power : round_up(rows, kLanes);
}

// Zeroes the rows [from, to) of a packed V tile; of a bf16 tile, halves of interleaved
// pairs.
template <class Tile>
void clear_packed_rows(Tile* value, int64_t stride, int64_t from, int64_t to) {
  constexpr int64_t kInterleaved = sizeof(float) / sizeof(Tile);
  for (int64_t r = from; r < to; ++r) {
    Tile* row = value + r / kInterleaved * kInterleaved * stride + r % kInterleaved;
    for (int64_t c = 0; c < stride; ++c) {
      row[c * kInterleaved] = 0;
    }
  }
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
        strides_(args),
        rows_(task.rows * task.heads),
        padded_(padded_rows(rows_)) {
    Carver measure(nullptr);
    carve(measure);
    Carver carver(scratch(kTaskSlot, measure.size()));
    carve(carver);
  }

  void run() {
    load_queries();
    const int64_t end = task_.position + task_.rows;
    for (int64_t first = 0; first < end; first += strides_.kKeys) {
      const int64_t count = smaller(strides_.kKeys, round_up(end - first, kKeyStep));
      const KeyTile<Tile> tile = tile_at(first);
      brgemm(
          {padded_, count, strides_.depth, strides_.query, strides_.key, strides_.score},
          /*accumulate=*/false,
          query_,
          tile.key,
          scores_);
      softmax(first, count);
      if (*tile.finite || first + count <= task_.position) {
        multiply(0, padded_, count, first, tile.value);
      } else {
        multiply_row_by_row(first, count, tile.value);
      }
    }
    store_rows();
  }

 private:
  void carve(Carver& carver) {
    query_ = carver.take<Tile>(padded_ * strides_.query);
    scores_ = carver.take<float>(padded_ * strides_.score);
    weights_ = carver.take<Tile>(padded_ * strides_.weight);
    out_ = carver.take<float>(padded_ * strides_.value);
    max_and_sum_ = carver.take<float>(2 * rows_);
  }

  // Task rows run over query rows, and over the task's heads within each.
  void load_queries() {
    for (int64_t h = 0; h < task_.heads; ++h) {
      HeadRows<In> from = rows_of_head<In>(
          args_.query, task_.query_row, 1, args_.heads, task_.head + h, args_.key_dim);
      for (int64_t i = 0; i < task_.rows; ++i) {
        copy_rows(
            from, query_ + (i * task_.heads + h) * strides_.query, strides_.query, 1);
        from.data += from.stride;
      }
    }
    const int64_t unused = padded_ - rows_;
    std::memset(
        query_ + rows_ * strides_.query, 0, sizeof(Tile) * unused * strides_.query);
    std::memset(
        weights_ + rows_ * strides_.weight, 0, sizeof(Tile) * unused * strides_.weight);
    for (int64_t r = 0; r < rows_; ++r) {
      max_and_sum_[2 * r] = -std::numeric_limits<float>::infinity();
      max_and_sum_[2 * r + 1] = 0;
    }
  }

  KeyTile<Tile> tile_at(int64_t first) const {
    const size_t bytes = tile_bytes<Tile>(args_);
    const int64_t index = first / strides_.kKeys;
    if (keys_.packed != nullptr) {
      Carver carver(static_cast<char*>(const_cast<void*>(keys_.packed)) + index * bytes);
      return {carver, strides_};
    }
    void* own = scratch(kKeySlot, bytes);
    pack_tile<In>(args_, keys_, index, own);
    Carver carver(own);
    return {carver, strides_};
  }

  // Keys of the tile that query row i of the task sees.
  [[nodiscard]] int64_t visible(int64_t i, int64_t first, int64_t count) const {
    return smaller(count, task_.position + i + 1 - first);
  }

  void softmax(int64_t first, int64_t count) {
    const float scale = args_.scale * kLog2E;
    for (int64_t i = 0, r = 0; i < task_.rows; ++i) {
      const int64_t valid = visible(i, first, count);
      for (int64_t h = 0; h < task_.heads; ++h, ++r) {
        const float alpha = softmax_row(
            scores_ + r * strides_.score,
            weights_ + r * strides_.weight,
            valid,
            count,
            scale,
            max_and_sum_ + 2 * r);
        if (first > 0 && alpha != 1.0F) {
          scale_row(out_ + r * strides_.value, strides_.value, alpha);
        }
      }
    }
  }

  // Adds P V for the task rows [row, row + rows).
  void multiply(
      int64_t row, int64_t rows, int64_t count, int64_t first, const Tile* value) {
    brgemm(
        {rows, strides_.value, count, strides_.weight, strides_.value, strides_.value},
        /*accumulate=*/first > 0,
        weights_ + row * strides_.weight,
        value,
        out_ + row * strides_.value);
  }

  // 0 * inf is NaN: a value that is not finite would reach rows whose weight for it is
  // masked. So each query row, the last first, gets a copy of V that ends where its keys
  // end.
  void multiply_row_by_row(int64_t first, int64_t count, Tile* value) {
    const int64_t keys = smaller(strides_.kKeys, keys_.num_keys - first);
    if (keys_.packed != nullptr) {
      Carver measure(nullptr);
      measure.take<Tile>(strides_.kKeys * strides_.value);
      value = static_cast<Tile*>(scratch(kKeySlot, measure.size()));
      pack_rows(
          values_of_tile<In>(args_, keys_, first),
          value,
          strides_.value,
          round_up(keys, kKeyStep));
    }
    int64_t end = keys;
    for (int64_t i = task_.rows - 1; i >= 0; --i) {
      const int64_t seen = visible(i, first, count);
      clear_packed_rows(value, strides_.value, seen, end);
      end = smaller(end, seen);
      multiply(i * task_.heads, task_.heads, count, first, value);
    }
  }

  void store_rows() {
    for (int64_t i = 0, r = 0; i < task_.rows; ++i) {
      for (int64_t h = 0; h < task_.heads; ++h, ++r) {
        store_row(r, task_.query_row + i, task_.head + h);
      }
    }
  }

  void store_row(int64_t r, int64_t row, int64_t head) {
    const float sum = max_and_sum_[2 * r + 1];
    const F16 inverse = splat(1.0F / sum);
    const float* from = out_ + r * strides_.value;
    In* to = static_cast<In*>(args_.out) + (row * args_.heads + head) * args_.value_dim;
    for (int64_t c = 0; c < args_.value_dim; c += kLanes) {
      const auto left = static_cast<int>(smaller(kLanes, args_.value_dim - c));
      store_first(to + c, load(from + c) * inverse, left);
    }
    args_.log_sum_exp[head * args_.num_tokens + row] =
        max_and_sum_[2 * r] + std::log2(sum);
  }

  const AttentionForward& args_;
  const AttentionKeys& keys_;
  const AttentionTask& task_;
  Strides<Tile> strides_;
  int64_t rows_;
  int64_t padded_;
  Tile* query_ = nullptr;         // [padded, strides.query]
  float* scores_ = nullptr;       // [padded, strides.score]
  Tile* weights_ = nullptr;       // [padded, strides.weight]
  float* out_ = nullptr;          // [padded, strides.value]
  float* max_and_sum_ = nullptr;  // [rows, 2], maximum in units of log 2
};

}  // namespace

AttentionTiling attention_tiling(bool bf16) {
  return bf16 ? kTiling<TileOf<Bf16>> : kTiling<float>;
}

size_t attention_tile_bytes(const AttentionForward& args) {
  return args.bf16 ? tile_bytes<TileOf<Bf16>>(args) : tile_bytes<float>(args);
}

void attention_pack_tile(
    const AttentionForward& args, const AttentionKeys& keys, int64_t tile, void* to) {
  args.bf16 ? pack_tile<Bf16>(args, keys, tile, to)
            : pack_tile<float>(args, keys, tile, to);
}

void attention_forward(
    const AttentionForward& args, const AttentionKeys& keys, const AttentionTask& task) {
  if (args.bf16) {
    ForwardTask<Bf16>(args, keys, task).run();
  } else {
    ForwardTask<float>(args, keys, task).run();
  }
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
