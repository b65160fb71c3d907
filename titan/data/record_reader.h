#pragma once
// The records of a file that can only be read from its start to its end.

#include <cstdint>
#include <memory>
#include <string>

#include "titan/data/decompress.h"

namespace titan::data {

// Not thread-safe.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Puts the next record, a JSON object, into `record`; false at the end.
  [[nodiscard]] virtual bool next(std::string& record) = 0;
  // Line or row of the record that next() gave last, from 1.
  [[nodiscard]] virtual int64_t number() const = 0;
};

// The lines that are not blank of compressed JSONL.
[[nodiscard]] std::unique_ptr<RecordReader> read_lines(std::unique_ptr<ByteStream> bytes);

}  // namespace titan::data
