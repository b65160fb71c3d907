#pragma once
// Reading GGUF files (versions 2 and 3, little-endian), written from the format's public
// description.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/gguf_dequant.h"

namespace titan::checkpoint {

struct GgufTensorInfo {
  const GgmlFormat* format = nullptr;
  std::vector<int64_t> shape;  // outermost dim first, as in LibTorch
  uint64_t offset = 0;         // of the first byte, from the start of the file
  uint64_t nbytes = 0;
};

// A memory-mapped file, wholly checked at opening. Immutable and safe to share by
// threads.
class GgufFile {
 public:
  // Throws InputError where the file cannot be read; FormatError where it is damaged or
  // holds a tensor of a type that titan cannot read (both named).
  explicit GgufFile(const fs::path& path);

  [[nodiscard]] const fs::path& path() const { return file_->path(); }

  // All key-value pairs. Integers, booleans, strings and (nested) arrays as such; a
  // 32-bit float as the double with the same shortest decimal text (1e-05,
  // not 9.9999997e-06). Strings may hold any bytes.
  [[nodiscard]] const std::map<std::string, Json>& metadata() const { return metadata_; }

  // In the order of the file's table.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] bool contains(const std::string& name) const {
    return tensors_.contains(name);
  }

  // These throw InputError with the nearest name when there is no such tensor.
  [[nodiscard]] const GgufTensorInfo& info(const std::string& name) const;
  // The stored blocks; valid while this object lives.
  [[nodiscard]] std::span<const std::byte> bytes(const std::string& name) const;
  // The values in a new tensor. REQUIRES: dtype is kFloat or kBFloat16 (the fp32 values
  // rounded to nearest, ties to even).
  [[nodiscard]] at::Tensor tensor(const std::string& name, at::ScalarType dtype) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Json> metadata_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, GgufTensorInfo> tensors_;
};

}  // namespace titan::checkpoint
