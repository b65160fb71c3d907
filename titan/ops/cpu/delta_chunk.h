// The rows of one chunk of the gated delta rule, for one head: what forward and backward
// share. Kernel-private: included only by files compiled per instruction set.
//
// A row reads the state of its chunk's start, decayed, and the rows before it in the
// chunk. With k, q normalised, E_i the product of the decays of rows 0..i and E_i / E_j
// that of rows j+1..i, per key channel:
//   A_ij = k_i (E_i / E_j) k_j, j < i        y = v - (k E) S - A delta, delta = beta y
//   B_ij = q_i (E_i / E_j) k_j, j <= i       out = (q E) S + B delta
//   S at the end = E_last S + sum over j of (k_j E_last / E_j) delta_j
// (Yang et al. 2024, Gated Delta Networks; Kimi Team 2025, Kimi Linear). No quotient is
// ever taken: each (E_i / E_j) is a product of decays, so nothing overflows, and a decay
// to zero is exact. Where i and j are in different blocks the product is cut at the start
// of i's block: `near` rows hold k_i and q_i decayed from there, and the remembered keys
// are decayed to there.
#pragma once

#include "titan/ops/cpu/delta_rule.h"
#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

// Whether query rows are computed, or only what the keys write.
enum class DeltaReads { kKeys = 1, kKeysAndQueries = 2 };

// `rows` rows of a chunk from its row `begin` on; the first is row `row` of the tensors.
struct DeltaPart {
  int64_t row, begin, rows;
};

// The rows [first, end) of the chunk, which are in the block that starts at `start`. Of
// stacked arrays they own the rows from `stack` on: their keys', then their queries'.
struct DeltaBlock {
  int64_t start, first, end;
  int64_t stack;

  [[nodiscard]] int64_t rows() const { return end - first; }
};

// Denormal results and operands are zero within the scope: products of decays pass
// through them, and arithmetic on them is slow.
class FlushDenormals {
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushAndZero); }

  ~FlushDenormals() { _mm_setcsr(before_); }

  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kFlushAndZero = 0x8040;
  unsigned before_;
};

// Floats [0, width) of a row in fp32, and back; zeros up to a whole vector on the way in.
void load_row(const void* from, bool bf16, int64_t width, float* to);
void store_row(const float* from, bool bf16, int64_t width, void* to);

// A state [key_width, value_width] with padded widths, and back. Null: zeros.
void load_state(const float* from, const DeltaRule& rule, float* to);
void store_state(const float* from, const DeltaRule& rule, float* to);

class DeltaChunk {
 public:
  // Floats from one row of `scores` to the next.
  static constexpr int64_t kScoreStride = kDeltaChunk + 16;

  DeltaChunk(const DeltaRule& rule, float* memory);
  [[nodiscard]] static int64_t size(const DeltaWidths& w);

  // Reads the part's rows of a head.
  void read(const DeltaPart& part, int64_t head);

  // Computes the loaded rows and remembers them. REQUIRES: the rows before them in the
  // chunk were the last that `memory` has seen.
  void compute(const DeltaMemory& memory, DeltaReads reads);

  // The state behind the last row. The memory then waits for a new chunk.
  void end_chunk(const DeltaMemory& memory) const;

  [[nodiscard]] int64_t num_blocks() const;
  [[nodiscard]] DeltaBlock block(int64_t index) const;

  // The output of row i of the part, if queries were read.
  [[nodiscard]] const float* out(int64_t i) const;

  const DeltaWidths widths;

  // Of the part's rows.
  float* query;       // [chunk, key], normalised and scaled
  float* key;         // [chunk, key], normalised
  float* value;       // [chunk, value]
  float* decay;       // [chunk, key]
  float* beta;        // [chunk]
  float* query_norm;  // [chunk], reciprocals
  float* key_norm;    // [chunk]
  float* residual;    // [chunk, value], y

  // Stacked.
  float* near;    // [2 chunk, key], decayed from the block's start
  float* reads;   // [2 chunk, key], decayed from the chunk's start
  float* scores;  // [2 chunk, kScoreStride]: A and B, zero above the diagonal of a block
  float* sums;    // [2 chunk, value]

 private:
  void score(const DeltaBlock& block, const DeltaMemory& memory) const;
  void decay_reads(const DeltaBlock& block, const DeltaMemory& memory) const;
  void score_within(
      const DeltaBlock& block, int64_t row, const DeltaMemory& memory) const;
  void finish_block(const DeltaBlock& block, const DeltaMemory& memory) const;
  void solve(const DeltaBlock& block, const DeltaMemory& memory) const;

  DeltaRule rule_;
  DeltaPart part_{};
  int64_t sides_ = 2;
};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
