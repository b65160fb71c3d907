// What the backward pass of the gated delta rule holds for one chunk of one head.
// Kernel-private: included only by files compiled per instruction set.
#pragma once

#include "titan/ops/cpu/delta_chunk.h"
#include "titan/ops/cpu/transpose.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

// Rows and columns, multiples of 16, and floats from row to row.
struct Turn {
  int64_t rows, columns, from_stride, to_stride;
};

// to[c, r] = from[r, c].
inline void turn(const Turn& shape, const float* from, float* to) {
  for (int64_t r = 0; r < shape.rows; r += kLanes) {
    for (int64_t c = 0; c < shape.columns; c += kLanes) {
      F16 block[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        block[i] = load(from + (r + i) * shape.from_stride + c);
      }
      transpose16(block);
      for (int64_t i = 0; i < kLanes; ++i) {
        store(to + (c + i) * shape.to_stride + r, block[i]);
      }
    }
  }
}

// Gradients of a chunk and what they are made of. G is the rows (-dy; dout), stacked as
// the chunk's arrays are.
class DeltaWork {
 public:
  static constexpr int64_t kBlocks = kDeltaChunk / kDeltaBlock;
  static constexpr int64_t kStack = 2 * kDeltaChunk;
  // Floats that keep long strides off the powers of two.
  static constexpr int64_t kSkew = 16;
  static constexpr int64_t kStackStride = kStack + kSkew;

  // Made of null it only measures.
  DeltaWork(float* storage, const DeltaWidths& w)
      : base_(reinterpret_cast<uintptr_t>(storage)),
        memory(take(DeltaMemory::size(w))),
        grads(take(kStack * w.value)),
        d_deltas(take(kDeltaChunk * w.value)),
        d_scores(take(kStack * DeltaChunk::kScoreStride)),
        d_reads(take(kStack * w.key)),
        d_writes(take(kDeltaChunk * w.key)),
        end_keys(take(kDeltaChunk * w.key)),
        earlier_keys(take(earlier(kBlocks) * w.key)),
        block_decays(take(kBlocks * w.key)),
        block_starts(take((kBlocks + 1) * w.key)),
        decay_sum(take(w.key)),
        d_query(take(kDeltaChunk * w.key)),
        d_key(take(kDeltaChunk * w.key)),
        turned(take(turned_size(w))) {}

  // Floats.
  [[nodiscard]] int64_t size() const { return size_; }

  // First of the rows in `earlier_keys` that stand before block b: 16 b of them.
  [[nodiscard]] static constexpr int64_t earlier(int64_t b) {
    return kDeltaBlock * b * (b - 1) / 2;
  }

 private:
  float* take(int64_t floats) {
    const uintptr_t piece = base_ + static_cast<size_t>(size_) * sizeof(float);
    size_ += floats;
    return reinterpret_cast<float*>(piece);
  }

  static int64_t turned_size(const DeltaWidths& w) {
    const int64_t wider = w.key > w.value ? w.key : w.value;
    const int64_t widest = wider > kDeltaChunk ? wider : kDeltaChunk;
    return widest * (kStackStride + widest);
  }

  uintptr_t base_;
  int64_t size_ = 0;

 public:
  float* memory;        // DeltaMemory
  float* grads;         // [stack, value], G
  float* d_deltas;      // [chunk, value]
  float* d_scores;      // [stack, kScoreStride]
  float* d_reads;       // [stack, key]; then d near; at last, in keys' rows, d log decay
  float* d_writes;      // [chunk, key], of keys decayed to a block's end
  float* end_keys;      // [chunk, key], decayed to the chunk's end
  float* earlier_keys;  // keys decayed to each block's start
  float* block_decays;  // [kBlocks, key], over all rows of a block
  float* block_starts;  // [kBlocks + 1, key], from the chunk's start; at last to its end
  float* decay_sum;     // [key], d log decay of all rows behind
  float* d_query;       // [chunk, key], of normalised rows, over the heads of a key head
  float* d_key;         // [chunk, key]
  float* turned;        // one operand
};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
