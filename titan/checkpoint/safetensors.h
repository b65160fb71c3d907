#pragma once
// Reading safetensors files: every check of the format at opening, tensors without a
// copy.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/checkpoint/safetensors_header.h"

namespace titan::checkpoint {

// A memory-mapped file. Immutable and safe to share by threads; copies share the map.
class SafetensorsFile {
 public:
  // Throws InputError where the file cannot be read, FormatError where it is not a valid
  // safetensors file (see parse_safetensors_header).
  explicit SafetensorsFile(const fs::path& path);

  [[nodiscard]] const fs::path& path() const { return file_->path(); }

  [[nodiscard]] uint64_t file_bytes() const { return file_->bytes().size(); }

  // All tensors in the order of their bytes in the file.
  [[nodiscard]] const std::vector<std::string>& names() const { return header_.names; }

  [[nodiscard]] bool contains(const std::string& name) const;

  // Throws InputError with the nearest name when there is no such tensor.
  [[nodiscard]] const SafetensorsEntry& info(const std::string& name) const;

  // The tensor on the CPU as a view of the map, which it keeps alive; never write to it
  // (the pages are read-only). Data that are not aligned to their element are copied.
  // Throws FormatError for a dtype that LibTorch lacks (F4, F6_*).
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;

  // The raw data of any dtype; valid while this object or a view from it lives.
  [[nodiscard]] std::span<const std::byte> bytes(const std::string& name) const;

  // Takes a tensor that was read out of resident memory (MappedFile::forget).
  void forget(const std::string& name) const { file_->forget(bytes(name)); }

  [[nodiscard]] const SafetensorsMetadata& metadata() const { return header_.metadata; }

 private:
  std::shared_ptr<const MappedFile> file_;
  SafetensorsHeader header_;
};

}  // namespace titan::checkpoint
