#pragma once
// JSONL: one JSON object a line, the document in one of its members.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/files.h"
#include "titan/data/document_file.h"

namespace titan::data {

// The string member `field` of the object that `line` holds. FormatError, with `where` +
// ":column: " in front: not one valid JSON object, or the member is missing, not a string
// or there twice.
[[nodiscard]] std::string read_jsonl_line(
    std::string_view line, const std::string& field, const std::string& where);

// A memory-mapped file and the offset of each line that is not blank.
class JsonlFile : public DocumentFile {
 public:
  JsonlFile(const std::filesystem::path& path, std::string field);

  [[nodiscard]] int64_t size() const override {
    return static_cast<int64_t>(offsets_.size());
  }

  [[nodiscard]] std::string text(int64_t index) const override;

  [[nodiscard]] uint64_t bytes(int64_t index) const override {
    return line(index).size();
  }

  [[nodiscard]] std::string where(int64_t index) const override;

 private:
  [[nodiscard]] std::string_view content() const;
  [[nodiscard]] std::string_view line(int64_t index) const;

  MappedFile file_;
  std::string field_;
  std::vector<uint64_t> offsets_;
};

}  // namespace titan::data
