#pragma once
// The content of a gzip or Zstandard file, piece by piece.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace titan::data {

// Not thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Puts the next bytes at the front of `out` and returns how many; 0 only at the end.
  // FormatError with file and offset: damaged or cut off. REQUIRES: out is not empty.
  [[nodiscard]] virtual size_t read(std::span<char> out) = 0;
};

// A file of one or more gzip members (RFC 1952).
[[nodiscard]] std::unique_ptr<ByteStream> open_gzip(const std::filesystem::path& path);
// A file of one or more Zstandard frames (RFC 8878).
[[nodiscard]] std::unique_ptr<ByteStream> open_zstd(const std::filesystem::path& path);

}  // namespace titan::data
