#pragma once
// One file of documents.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "titan/data/source.h"

namespace titan::data {

// Immutable and thread-safe.
class DocumentFile {
 public:
  virtual ~DocumentFile() = default;
  [[nodiscard]] virtual int64_t size() const = 0;
  // REQUIRES: 0 <= index < size(), here and below.
  [[nodiscard]] virtual std::string text(int64_t index) const = 0;
  // Size of the document as it lies in the file.
  [[nodiscard]] virtual uint64_t bytes(int64_t index) const = 0;
  [[nodiscard]] virtual std::string where(int64_t index) const = 0;
};

// Opens and checks `path`; the errors are those of Documents.
[[nodiscard]] std::unique_ptr<DocumentFile> open_document_file(
    const std::filesystem::path& path, const SourceConfig& config);

}  // namespace titan::data
