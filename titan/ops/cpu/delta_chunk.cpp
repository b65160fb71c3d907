#include "titan/ops/cpu/delta_chunk.h"

#include <cstring>

#include "titan/ops/cpu/transpose.h"
#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

template <class T>
void load_as(const T* from, int64_t width, float* to) {
  for_vectors(0, width, [&](int64_t i, int n) { store(to + i, get(from + i, n)); });
}

template <class T>
void store_as(const float* from, int64_t width, T* to) {
  for_vectors(0, width, [&](int64_t i, int n) { put(to + i, load(from + i), n); });
}

const void* element(const DeltaInput& in, bool bf16, int64_t row, int64_t head) {
  const int64_t offset = row * in.row_stride + head * in.head_stride;
  return static_cast<const char*>(in.data) + offset * (bf16 ? 2 : 4);
}

// Divides a row by its length; returns the reciprocal of that.
float normalise(float* row, int64_t width, float eps, float scale) {
  F16 squares = splat(0);
  for (int64_t i = 0; i < width; i += kLanes) {
    squares = fma(load(row + i), load(row + i), squares);
  }
  const float inverse = 1.0F / __builtin_sqrtf(reduce_add(squares) + eps);
  for (int64_t i = 0; i < width; i += kLanes) {
    store(row + i, load(row + i) * splat(inverse) * splat(scale));
  }
  return inverse;
}

// Lane i is the sum of rows[i].
F16 sum_lanes(F16 (&rows)[kLanes]) {
  transpose16(rows);
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) {
      rows[i] = rows[i] + rows[i + step];
    }
  }
  return rows[0];
}

}  // namespace

void load_row(const void* from, bool bf16, int64_t width, float* to) {
  bf16 ? load_as(static_cast<const Bf16*>(from), width, to)
       : load_as(static_cast<const float*>(from), width, to);
}

void store_row(const float* from, bool bf16, int64_t width, void* to) {
  bf16 ? store_as(from, width, static_cast<Bf16*>(to))
       : store_as(from, width, static_cast<float*>(to));
}

void load_state(const float* from, const DeltaRule& rule, float* to) {
  const DeltaWidths w(rule.key_width, rule.value_width);
  std::memset(to, 0, static_cast<size_t>(w.key * w.value) * sizeof(float));
  for (int64_t d = 0; from != nullptr && d < rule.key_width; ++d) {
    load_as(from + d * rule.value_width, rule.value_width, to + d * w.value);
  }
}

void store_state(const float* from, const DeltaRule& rule, float* to) {
  const DeltaWidths w(rule.key_width, rule.value_width);
  for (int64_t d = 0; d < rule.key_width; ++d) {
    store_as(from + d * w.value, rule.value_width, to + d * rule.value_width);
  }
}

DeltaChunk::DeltaChunk(const DeltaRule& rule, float* memory)
    : widths(rule.key_width, rule.value_width), rule_(rule) {
  const auto take = [&memory](int64_t floats) {
    float* piece = memory;
    memory += floats;
    return piece;
  };
  query = take(kDeltaChunk * widths.key);
  key = take(kDeltaChunk * widths.key);
  value = take(kDeltaChunk * widths.value);
  decay = take(kDeltaChunk * widths.key);
  beta = take(kDeltaChunk);
  query_norm = take(kDeltaChunk);
  key_norm = take(kDeltaChunk);
  residual = take(kDeltaChunk * widths.value);
  near = take(2 * kDeltaChunk * widths.key);
  reads = take(2 * kDeltaChunk * widths.key);
  scores = take(2 * kDeltaChunk * kScoreStride);
  sums = take(2 * kDeltaChunk * widths.value);
}

int64_t DeltaChunk::size(const DeltaWidths& w) {
  return kDeltaChunk * (7 * w.key + 4 * w.value + 3 + 2 * kScoreStride);
}

int64_t DeltaChunk::num_blocks() const {
  const int64_t last = part_.begin + part_.rows - 1;
  return last / kDeltaBlock - part_.begin / kDeltaBlock + 1;
}

DeltaBlock DeltaChunk::block(int64_t index) const {
  const int64_t start = (part_.begin / kDeltaBlock + index) * kDeltaBlock;
  const int64_t first = start < part_.begin ? part_.begin : start;
  const int64_t end = part_.begin + part_.rows;
  return {
      start,
      first,
      start + kDeltaBlock < end ? start + kDeltaBlock : end,
      sides_ * (first - part_.begin)};
}

const float* DeltaChunk::out(int64_t i) const {
  const int64_t row = part_.begin + i;
  const DeltaBlock b = block(row / kDeltaBlock - part_.begin / kDeltaBlock);
  return sums + (b.stack + b.rows() + row - b.first) * widths.value;
}

void DeltaChunk::read(const DeltaPart& part, int64_t head) {
  part_ = part;
  const bool bf16 = rule_.bf16;
  const int64_t key_head = head * rule_.key_heads / rule_.heads;
  for (int64_t i = 0; i < part.rows; ++i) {
    const int64_t row = part.row + i;
    float* q = query + i * widths.key;
    float* k = key + i * widths.key;
    load_row(element(rule_.query, bf16, row, key_head), bf16, rule_.key_width, q);
    load_row(element(rule_.key, bf16, row, key_head), bf16, rule_.key_width, k);
    load_row(
        element(rule_.value, bf16, row, head),
        bf16,
        rule_.value_width,
        value + i * widths.value);
    query_norm[i] = normalise(q, widths.key, rule_.norm_eps, rule_.scale);
    key_norm[i] = normalise(k, widths.key, rule_.norm_eps, 1.0F);
    beta[i] = rule_.beta[row * rule_.heads + head];
    const float* g = rule_.log_decay + (row * rule_.heads + head) * rule_.decays;
    float* a = decay + i * widths.key;
    if (rule_.decays == 1) {
      const F16 same = exp(splat(*g));
      for (int64_t d = 0; d < widths.key; d += kLanes) {
        store(a + d, same);
      }
    } else {
      for_vectors(0, rule_.key_width, [&](int64_t d, int n) {
        store(a + d, exp(get(g + d, n)));
      });
    }
  }
}

void DeltaChunk::compute(const DeltaMemory& memory, DeltaReads which) {
  sides_ = static_cast<int64_t>(which);
  if (part_.begin == 0) {
    for (int64_t d = 0; d < widths.key; d += kLanes) {
      store(memory.decay + d, splat(1));
    }
  }
  for (int64_t b = 0; b < num_blocks(); ++b) {
    score(block(b), memory);
  }
  brgemm(
      {sides_ * part_.rows,
       widths.value,
       widths.key,
       widths.key,
       widths.value,
       widths.value},
      /*accumulate=*/false,
      reads,
      memory.state,
      sums);
  for (int64_t b = 0; b < num_blocks(); ++b) {
    solve(block(b), memory);
  }
}

void DeltaChunk::score(const DeltaBlock& block, const DeltaMemory& memory) const {
  const int64_t at = (block.first - block.start) * widths.key;
  const int64_t from = (block.first - part_.begin) * widths.key;
  const size_t bytes = static_cast<size_t>(block.rows() * widths.key) * sizeof(float);
  std::memcpy(memory.block_keys + at, key + from, bytes);
  std::memcpy(memory.block_decays + at, decay + from, bytes);
  decay_reads(block, memory);
  if (block.start > 0) {
    brgemm(
        {sides_ * block.rows(),
         block.start,
         widths.key,
         widths.key,
         DeltaMemory::kKeyStride,
         kScoreStride},
        /*accumulate=*/false,
        near + block.stack * widths.key,
        memory.keys,
        scores + block.stack * kScoreStride);
  }
  for (int64_t row = block.first; row < block.end; ++row) {
    score_within(block, row, memory);
  }
  if (block.end == block.start + kDeltaBlock) {
    finish_block(block, memory);
  }
}

// `near` and `reads` of the block's rows.
void DeltaChunk::decay_reads(const DeltaBlock& block, const DeltaMemory& memory) const {
  const int64_t queries = block.rows() * widths.key;
  for (int64_t d = 0; d < widths.key; d += kLanes) {
    const F16 before = load(memory.decay + d);
    F16 product = splat(1);
    for (int64_t row = block.start; row < block.end; ++row) {
      product =
          product * load(memory.block_decays + (row - block.start) * widths.key + d);
      if (row < block.first) {
        continue;
      }
      const int64_t from = (row - part_.begin) * widths.key + d;
      const int64_t to = (block.stack + row - block.first) * widths.key + d;
      const F16 near_key = load(key + from) * product;
      store(near + to, near_key);
      store(reads + to, near_key * before);
      if (sides_ == 2) {
        const F16 near_query = load(query + from) * product;
        store(near + to + queries, near_query);
        store(reads + to + queries, near_query * before);
      }
    }
  }
}

// Scores of a row with the rows of its block.
void DeltaChunk::score_within(
    const DeltaBlock& block, int64_t row, const DeltaMemory& memory) const {
  F16 key_sums[kLanes];
  F16 query_sums[kLanes];
  for (int j = 0; j < kLanes; ++j) {
    key_sums[j] = splat(0);
    query_sums[j] = splat(0);
  }
  const int64_t last = row - block.start;
  for (int64_t d = 0; d < widths.key; d += kLanes) {
    const F16 k = load(memory.block_keys + last * widths.key + d);
    const F16 q = load(query + (row - part_.begin) * widths.key + d);
    F16 decayed = splat(1);
    query_sums[last] = fma(q, k, query_sums[last]);
    for (int64_t j = last - 1; j >= 0; --j) {
      decayed = decayed * load(memory.block_decays + (j + 1) * widths.key + d);
      const F16 other = load(memory.block_keys + j * widths.key + d) * decayed;
      key_sums[j] = fma(k, other, key_sums[j]);
      query_sums[j] = fma(q, other, query_sums[j]);
    }
  }
  float* to = scores + (block.stack + row - block.first) * kScoreStride + block.start;
  store(to, sum_lanes(key_sums));
  if (sides_ == 2) {
    store(to + block.rows() * kScoreStride, sum_lanes(query_sums));
  }
}

// Decays the remembered keys to the end of the block and adds the block's.
void DeltaChunk::finish_block(const DeltaBlock& block, const DeltaMemory& memory) const {
  const int64_t rows = block.end - block.start;
  for (int64_t d = 0; d < widths.key; d += kLanes) {
    F16 column[kLanes];
    F16 product = splat(1);
    for (int64_t j = kLanes - 1; j >= 0; --j) {
      column[j] = splat(0);
      if (j < rows) {
        column[j] = load(memory.block_keys + j * widths.key + d) * product;
        product = product * load(memory.block_decays + j * widths.key + d);
      }
    }
    transpose16(column);
    float factors[kLanes];
    store(factors, product);
    for (int64_t i = 0; i < kLanes; ++i) {
      float* keys = memory.keys + (d + i) * DeltaMemory::kKeyStride;
      for (int64_t j = 0; j < block.start; j += kLanes) {
        store(keys + j, load(keys + j) * splat(factors[i]));
      }
      store(keys + block.start, column[i]);
    }
    store(memory.decay + d, load(memory.decay + d) * product);
  }
}

// By forward substitution: row after row of the deltas, and the outputs beside them.
void DeltaChunk::solve(const DeltaBlock& block, const DeltaMemory& memory) const {
  const int64_t width = widths.value;
  if (block.start > 0) {
    brgemm(
        {sides_ * block.rows(), width, block.start, kScoreStride, width, width},
        /*accumulate=*/true,
        scores + block.stack * kScoreStride,
        memory.deltas,
        sums + block.stack * width);
  }
  for (int64_t row = block.first; row < block.end; ++row) {
    const int64_t stacked = block.stack + row - block.first;
    const int64_t at = (row - part_.begin) * width;
    const float* key_scores = scores + stacked * kScoreStride;
    const float* key_sums = sums + stacked * width;
    const F16 strength = splat(beta[row - part_.begin]);
    for (int64_t c = 0; c < width; c += kLanes) {
      F16 y = load(value + at + c) - load(key_sums + c);
      for (int64_t j = block.start; j < row; ++j) {
        y = fma(splat(-key_scores[j]), load(memory.deltas + j * width + c), y);
      }
      store(residual + at + c, y);
      store(memory.deltas + row * width + c, y * strength);
    }
    if (sides_ == 1) {
      continue;
    }
    const float* query_scores = key_scores + block.rows() * kScoreStride;
    float* query_sums = sums + (stacked + block.rows()) * width;
    for (int64_t c = 0; c < width; c += kLanes) {
      F16 sum = load(query_sums + c);
      for (int64_t j = block.start; j <= row; ++j) {
        sum = fma(splat(query_scores[j]), load(memory.deltas + j * width + c), sum);
      }
      store(query_sums + c, sum);
    }
  }
}

void DeltaChunk::end_chunk(const DeltaMemory& memory) const {
  const DeltaBlock last = block(num_blocks() - 1);
  if (last.end < last.start + kDeltaBlock) {
    finish_block(last, memory);
  }
  for (int64_t d = 0; d < widths.key; ++d) {
    float* row = memory.state + d * widths.value;
    const F16 kept = splat(memory.decay[d]);
    for (int64_t c = 0; c < widths.value; c += kLanes) {
      store(row + c, load(row + c) * kept);
    }
  }
  brgemm(
      {widths.key,
       widths.value,
       last.end,
       DeltaMemory::kKeyStride,
       widths.value,
       widths.value},
      /*accumulate=*/true,
      memory.keys,
      memory.deltas,
      memory.state);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
