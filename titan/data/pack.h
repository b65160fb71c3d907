#pragma once
// Concat-then-split packing: documents follow each other in full rows, cut where a row
// ends.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "titan/data/batch.h"

namespace titan::data {

struct PackOptions {
  int64_t tokens = 0;   // tokens of a row, T
  int64_t context = 0;  // longest piece of a document; 0: as long as the row
};

// Where the next row starts. All of the packer's state: rows hold no buffer.
struct Cursor {
  int64_t epoch = 0;
  int64_t document = 0;  // place in the epoch's order
  int64_t token = 0;     // inputs of that document that earlier rows have used

  bool operator==(const Cursor&) const = default;
};

// The documents in the order in which they are to be packed.
struct DocumentStream {
  int64_t num_documents = 0;  // of one epoch
  int64_t num_epochs = 0;     // 0: no end
  // The token ids of document `place` of an epoch, with BOS and EOS if wanted.
  std::function<std::vector<int32_t>(int64_t epoch, int64_t place)> tokens;
};

// Makes rows of exactly `options.tokens` tokens. A document of n ids has n - 1 inputs
// t[:-1] with the labels t[1:], so no label crosses a document border; one with fewer
// than two ids adds nothing. A document longer than `context` is cut into pieces, and one
// that a row's end cuts goes on in the next row; each piece starts at position 0. Every
// input is used exactly once an epoch, and rows run on over the end of an epoch. The last
// row of the last epoch is filled up with token 0 under kNoLabel, in documents of its
// own. Not thread-safe.
class Packer {
 public:
  Packer(const PackOptions& options, DocumentStream stream, const Cursor& start = {});

  // The next row; nullopt after the last one. FormatError: an epoch without any input, or
  // a start cursor beyond its document.
  [[nodiscard]] std::optional<Batch> next();

  // Where the row after the last one returned starts.
  [[nodiscard]] Cursor cursor() const { return cursor_; }

  // A row of nothing but filling.
  [[nodiscard]] Batch filling() const;

 private:
  [[nodiscard]] bool load_document();
  void append_piece(Batch& row);
  void fill_up(Batch& row) const;

  PackOptions options_;
  DocumentStream stream_;
  Cursor cursor_;
  std::vector<int32_t> document_;  // the ids of cursor_.document once loaded
  bool loaded_ = false;
  bool epoch_has_input_ = false;
};

}  // namespace titan::data
