#pragma once
// The header of a safetensors file: 8 bytes little-endian length, then that many bytes of
// JSON {"name": {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {...}},
// then the data. Written from the format's public description.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "titan/checkpoint/safetensors_dtype.h"

namespace titan::checkpoint {

using SafetensorsMetadata = std::map<std::string, std::string>;

// The longest header that is read or written, the cap of the reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsEntry {
  const SafetensorsDtype* dtype = nullptr;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // of the first byte, from the start of the file
  uint64_t nbytes = 0;
};

struct SafetensorsHeader {
  std::vector<std::string> names;  // in the order of their bytes
  std::unordered_map<std::string, SafetensorsEntry> entries;
  SafetensorsMetadata metadata;
};

// Reads and checks the header of a whole file's bytes: afterwards the tensors tile the
// data exactly and every size fits int64_t. Time and memory are linear in the header.
// Throws FormatError that begins with `path`.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(
    std::span<const std::byte> file, const std::string& path);

}  // namespace titan::checkpoint
