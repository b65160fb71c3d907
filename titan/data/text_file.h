#pragma once
// A plain-text file as one document.

#include <cstdint>
#include <filesystem>
#include <string>

#include "titan/data/document_file.h"

namespace titan::data {

// Holds only the path; the text is read when asked for. A byte order mark is left out.
class TextFile : public DocumentFile {
 public:
  explicit TextFile(std::filesystem::path path);

  [[nodiscard]] int64_t size() const override { return bytes_ > 0 ? 1 : 0; }

  [[nodiscard]] std::string text(int64_t index) const override;

  [[nodiscard]] uint64_t bytes(int64_t) const override { return bytes_; }

  [[nodiscard]] std::string where(int64_t) const override { return path_.string(); }

 private:
  std::filesystem::path path_;
  uint64_t bytes_ = 0;
};

}  // namespace titan::data
