#pragma once
// The merges of byte-pair encoding and how they are applied to one piece.

#include <cstdint>
#include <span>
#include <vector>

#include "titan/text/pair_map.h"

namespace titan::text {

struct RankedMerge {
  int32_t rank = 0;
  int32_t joined = 0;
};

using BpeMerges = PairMap<RankedMerge>;

// Applies merges; keeps its memory between calls. Not thread-safe.
class BpeMerger {
 public:
  // Joins neighbours in `symbols` until no merge applies: always the lowest rank, of
  // equal ones the leftmost. Appends the result. `symbols` is used up.
  void apply(
      const BpeMerges& merges, std::vector<int32_t>& symbols, std::vector<int32_t>& ids);

 private:
  struct Symbol {
    int32_t id;
    uint32_t previous;
    uint32_t next;
  };

  struct Candidate {
    int32_t rank;
    uint32_t position;
    int32_t left;
    int32_t right;
    int32_t joined;
  };

  void apply_short(
      const BpeMerges& merges, std::vector<int32_t>& symbols, std::vector<int32_t>& ids);
  void apply_long(
      const BpeMerges& merges,
      std::span<const int32_t> symbols,
      std::vector<int32_t>& ids);
  void consider(const BpeMerges& merges, uint32_t position);
  [[nodiscard]] bool applies(const Candidate& candidate) const;
  void join(const BpeMerges& merges, const Candidate& candidate);

  std::vector<RankedMerge> pairs_;     // short pieces: of each symbol with the next
  std::vector<Symbol> symbols_;        // long ones: a linked list
  std::vector<Candidate> candidates_;  // a heap
};

}  // namespace titan::text
