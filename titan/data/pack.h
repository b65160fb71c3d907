#pragma once
// Documents to rows of exactly T tokens.

#include <cstdint>
#include <memory>
#include <vector>

#include "titan/data/batch.h"
#include "titan/data/config.h"
#include "titan/data/intake.h"

namespace titan::data {

struct PackOptions {
  int64_t tokens = 0;      // tokens of a row, T
  int64_t context = 0;     // longest piece of a document; 0: T
  int64_t vocab_size = 0;  // ids must be smaller
  Packing packing = Packing::kSplit;
  int64_t window = 1;  // documents that first_fit and best_fit see at a time, > 0
  uint64_t seed = 0;   // of the order of the rows of a window

  // Inputs of the longest piece.
  [[nodiscard]] int64_t max_piece() const;
};

// Where the next row starts. With the options this is all of the packer's state: what it
// holds is made again.
struct PackCursor {
  std::vector<int64_t> used;  // documents of each part that are done with
  int64_t offset = 0;         // split: inputs of the next document that rows have used;
                              // else: rows of the window that starts there
  DocumentCounts counts;      // of the documents in `used`
  int64_t filling = 0;        // tokens that filled rows up, in all rows

  bool operator==(const PackCursor&) const = default;
};

// A piece of a document is a run of its inputs, at most as long as the context; it starts
// at position 0 and never sees another piece. Every input of every example that the
// intake gives is used exactly once, in pieces of the whole example where it is not
// longer than the context and rows are not cut (first_fit, best_fit). What is left of a
// row is filled up with token 0 under kNoLabel, in documents of its own: filling is known
// by its place, not by its id. Not thread-safe.
class Packer {
 public:
  virtual ~Packer() = default;
  // Makes the next row, or only goes past it where `row` is null, which reads no ids;
  // false after the last one. FormatError: an id that is not in the vocabulary, or a
  // start cursor beyond its documents.
  [[nodiscard]] virtual bool next(Batch* row) = 0;
  // Where the row after the last one starts.
  [[nodiscard]] virtual const PackCursor& cursor() const = 0;
  // Of all documents that it has seen: beyond the cursor, of a document or a window that
  // rows have used in part.
  [[nodiscard]] virtual const DocumentCounts& counts() const = 0;
};

// Continues at `start`. REQUIRES: the intake begins there, with its counts.
[[nodiscard]] std::unique_ptr<Packer> make_packer(
    const PackOptions& options, Intake intake, PackCursor start);

// A row of nothing but filling.
[[nodiscard]] Batch filling_row(const PackOptions& options);

}  // namespace titan::data
