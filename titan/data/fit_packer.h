#pragma once
// First-fit-decreasing and best-fit-decreasing over windows of documents.

#include <cstdint>
#include <span>
#include <vector>

#include "titan/data/pack.h"

namespace titan::data {

// Puts lengths, none larger than `capacity`, into bins of that capacity: the longest
// first, equal ones in their order, each into the first bin with room (first_fit) or into
// the bin with the least room that suffices, the first of equals (best_fit). Returns the
// bin of each length; bins are numbered as they are opened. O(n log n). Both need at most
// 11/9 of the smallest possible number of bins and a few more (Johnson 1974).
// REQUIRES: packing is not split.
[[nodiscard]] std::vector<size_t> pack_lengths(
    std::span<const int64_t> lengths, int64_t capacity, Packing packing);

// Takes a window of documents, packs their pieces, gives the rows in a seeded order, and
// takes the next window. Within a row the pieces keep the order of the documents.
class FitPacker : public Packer {
 public:
  FitPacker(const PackOptions& options, Intake intake, PackCursor start);

  [[nodiscard]] bool next(Batch* row) override;

  [[nodiscard]] const PackCursor& cursor() const override { return cursor_; }

  [[nodiscard]] const DocumentCounts& counts() const override { return intake_.counts(); }

 private:
  struct Piece {
    size_t example = 0;
    int64_t begin = 0;
    int64_t length = 0;
  };

  void take_window();
  void pack_window();

  PackOptions options_;
  Intake intake_;
  PackCursor cursor_;
  std::vector<Example> examples_;         // of the window
  std::vector<std::vector<Piece>> rows_;  // in the order in which they are given
};

}  // namespace titan::data
