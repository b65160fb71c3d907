#pragma once
// A file whose documents can be read in any order.

#include <cstdint>
#include <string>

#include "titan/data/document.h"

namespace titan::data {

// The file must not change meanwhile. Immutable and thread-safe.
class IndexedFile {
 public:
  virtual ~IndexedFile() = default;
  // Documents in it.
  [[nodiscard]] virtual int64_t size() const = 0;
  // Of the documents' sizes (SizesHash).
  [[nodiscard]] virtual uint64_t fingerprint() const = 0;
  // REQUIRES: 0 <= index < size(), here and below.
  [[nodiscard]] virtual Document read(int64_t index) const = 0;

  // Its documents are token ids already, so that nothing is left to do.
  [[nodiscard]] virtual bool holds_tokens() const { return false; }

  // "file:line" or "file", for messages.
  [[nodiscard]] virtual std::string where(int64_t index) const = 0;
};

}  // namespace titan::data
