#pragma once
// The check of every record when its file is opened.

#include <cstdint>
#include <string>
#include <string_view>

#include "titan/data/source.h"

namespace titan::data {

// A hash of sizes in their order: it tells datasets apart without reading them again.
class SizesHash {
 public:
  void add(uint64_t size) { value_ = (value_ ^ size) * 0x9E3779B97F4A7C15; }

  [[nodiscard]] uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

// For the records of one file. Not thread-safe.
class RecordCheck {
 public:
  // REQUIRES: `source` outlives this.
  RecordCheck(const SourceConfig& source, BadRecords bad) : source_(source), bad_(bad) {}

  // Whether the record can be used. FormatError, as of read_record(), where bad records
  // are refused.
  [[nodiscard]] bool accepts(std::string_view json, const std::string& where);

  [[nodiscard]] int64_t num_bad() const { return num_bad_; }

  // What was wrong with the first bad record.
  [[nodiscard]] const std::string& first_problem() const { return first_problem_; }

 private:
  const SourceConfig& source_;
  BadRecords bad_;
  int64_t num_bad_ = 0;
  std::string first_problem_;
};

}  // namespace titan::data
