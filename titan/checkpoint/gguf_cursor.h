#pragma once
// Bounds-checked sequential reading of the values of a GGUF header.

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "titan/base/json.h"

namespace titan::checkpoint {

// Every read checks what is left of the file first; a FormatError names file and offset.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string path)
      : bytes_(bytes), path_(std::move(path)) {}

  [[nodiscard]] uint64_t position() const { return position_; }

  [[nodiscard]] const std::string& path() const { return path_; }

  // A little-endian number; `what` names it in the error.
  template <class T>
  [[nodiscard]] T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what), sizeof value);
    return value;
  }

  // A length in 64 bits, then the bytes.
  [[nodiscard]] std::string string(std::string_view what);

  // A value of the type with this identifier (0 uint8 .. 12 float64); `key` names it.
  [[nodiscard]] Json value(uint32_t type, const std::string& key) {
    return value(type, key, 0);
  }

 private:
  [[nodiscard]] const std::byte* take(uint64_t count, std::string_view what);
  [[nodiscard]] Json value(uint32_t type, const std::string& key, int depth);
  [[nodiscard]] Json array(const std::string& key, int depth);

  std::span<const std::byte> bytes_;
  std::string path_;
  uint64_t position_ = 0;
};

}  // namespace titan::checkpoint
