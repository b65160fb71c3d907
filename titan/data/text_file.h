#pragma once
// A plain-text file as one document.

#include <cstdint>
#include <filesystem>
#include <string>

#include "titan/data/indexed_file.h"

namespace titan::data {

// Holds only the path; the text is read when asked for. A byte order mark is left out.
class TextFile : public IndexedFile {
 public:
  // FormatError: not UTF-8.
  explicit TextFile(std::filesystem::path path);

  [[nodiscard]] int64_t size() const override { return bytes_ > 0 ? 1 : 0; }

  [[nodiscard]] uint64_t fingerprint() const override { return bytes_; }

  [[nodiscard]] Document read(int64_t) const override { return text(); }

  [[nodiscard]] std::string where(int64_t) const override { return path_.string(); }

 private:
  [[nodiscard]] std::string text() const;

  std::filesystem::path path_;
  uint64_t bytes_ = 0;
};

}  // namespace titan::data
