#pragma once
// JSONL without compression: one JSON object a line.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/files.h"
#include "titan/data/indexed_file.h"
#include "titan/data/record_check.h"

namespace titan::data {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Whether nothing but spaces, tabs and a carriage return is in it.
[[nodiscard]] bool is_blank(std::string_view line);

// A memory-mapped file and the offset of each line that is not blank.
class JsonlFile : public IndexedFile {
 public:
  // Checks every line. REQUIRES: `source` outlives this.
  JsonlFile(
      const std::filesystem::path& path, const SourceConfig& source, RecordCheck& check);

  [[nodiscard]] int64_t size() const override {
    return static_cast<int64_t>(offsets_.size());
  }

  [[nodiscard]] uint64_t fingerprint() const override { return sizes_.value(); }

  [[nodiscard]] Document read(int64_t index) const override;

  [[nodiscard]] std::string where(int64_t index) const override;

 private:
  [[nodiscard]] std::string_view content() const;

  MappedFile file_;
  const SourceConfig& source_;
  std::vector<uint64_t> offsets_;
  SizesHash sizes_;
};

}  // namespace titan::data
