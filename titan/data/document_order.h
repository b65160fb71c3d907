#pragma once
// The order in which documents have their turn, epoch after epoch, without end.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "titan/data/document.h"
#include "titan/data/indexed_file.h"
#include "titan/data/streamed_file.h"

namespace titan::data {

// A document that has its turn, not yet read or parsed: that can be done on any thread.
// Its file outlives it.
struct Ticket {
  const IndexedFile* indexed = nullptr;
  const StreamedFile* streamed = nullptr;
  int64_t index = 0;   // in the indexed file; of a streamed one the record's number
  std::string record;  // of a streamed file

  [[nodiscard]] Document read() const;
  // Reading and processing take time.
  [[nodiscard]] bool needs_work() const;
  [[nodiscard]] std::string where() const;
};

struct OrderOptions {
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t buffer = 1;  // records among which a streamed order draws, > 0
};

// Every epoch has every document once. What comes at which place depends only on the
// files and the options. Not thread-safe.
class DocumentOrder {
 public:
  virtual ~DocumentOrder() = default;
  // Documents of an epoch, > 0.
  [[nodiscard]] virtual int64_t size() const = 0;
  // Of the files' fingerprints.
  [[nodiscard]] virtual uint64_t fingerprint() const = 0;
  // Whether the buffer has a say in the order.
  [[nodiscard]] virtual bool streamed() const = 0;
  // Goes on after `used` documents, counted from the start of the first epoch.
  virtual void seek(int64_t used) = 0;
  [[nodiscard]] virtual Ticket next() = 0;
};

// One permutation of all documents of all files an epoch; seek() takes no time.
[[nodiscard]] std::unique_ptr<DocumentOrder> order_indexed(
    std::vector<const IndexedFile*> files, const OrderOptions& options);

// A permutation of the files an epoch; their records pass through a buffer from which
// each next one is drawn. seek() reads the epoch again from its start without parsing.
// FormatError: a file has fewer records than when it was opened.
[[nodiscard]] std::unique_ptr<DocumentOrder> order_streamed(
    std::vector<const StreamedFile*> files, const OrderOptions& options);

}  // namespace titan::data
