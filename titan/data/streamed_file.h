#pragma once
// A file whose documents come in its own order only: compressed JSONL, Parquet.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "titan/data/document.h"
#include "titan/data/record_check.h"
#include "titan/data/record_reader.h"

namespace titan::data {

// The file must not change meanwhile. Immutable and thread-safe; its readers are not.
class StreamedFile {
 public:
  // Reads and checks every record once. REQUIRES: `source` outlives this.
  StreamedFile(
      std::filesystem::path path, const SourceConfig& source, RecordCheck& check);

  // Documents in it.
  [[nodiscard]] int64_t size() const { return size_; }

  [[nodiscard]] uint64_t fingerprint() const { return sizes_.value(); }

  // From the first record on, without the bad ones. REQUIRES: this outlives the reader.
  [[nodiscard]] std::unique_ptr<RecordReader> open() const;

  // The document of a record that a reader gave.
  [[nodiscard]] Document parse(const std::string& record) const;

  // "file:line" or "file:row" of the record with that number.
  [[nodiscard]] std::string where(int64_t number) const;

 private:
  std::filesystem::path path_;
  const SourceConfig& source_;
  int64_t size_ = 0;
  SizesHash sizes_;
  std::vector<int64_t> bad_;  // numbers of the records that are left out, ascending
};

}  // namespace titan::data
