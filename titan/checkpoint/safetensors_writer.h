#pragma once
// Writing safetensors files tensor by tensor. The same tensors and metadata give the same
// bytes, whatever order they are listed in.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/checkpoint/safetensors_header.h"

namespace titan::checkpoint {

struct TensorSpec {
  std::string name;
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<int64_t> shape;

  [[nodiscard]] uint64_t nbytes() const;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// Writes a file whose tensors are known beforehand but come one after another, so that no
// more than one of them needs to be in memory. Not thread-safe.
class SafetensorsWriter {
 public:
  // Creates the file and writes its header. Throws InputError for a name that occurs
  // twice or a dtype that the format lacks, EnvironmentError where the file cannot be
  // written.
  SafetensorsWriter(
      const fs::path& path,
      std::vector<TensorSpec> specs,
      const SafetensorsMetadata& metadata = {});

  // The tensors in the order in which write() takes them: wide types first, then by name.
  [[nodiscard]] const std::vector<TensorSpec>& order() const { return order_; }

  // The size that the finished file has.
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }

  // Appends the next tensor of order(). REQUIRES: its dtype and shape. Any strides and
  // device; what is not contiguous on the CPU passes through a small buffer.
  void write(const at::Tensor& tensor);

  // Blocks until the file is on the disk. REQUIRES: all tensors were written.
  void sync_and_close();

 private:
  void write_strided(const at::Tensor& tensor);

  fs::path path_;
  std::vector<TensorSpec> order_;
  size_t written_ = 0;
  uint64_t file_bytes_ = 0;
  std::optional<OutputFile> file_;
};

// Writes one durable file of tensors that are in memory.
void write_safetensors(
    const fs::path& path,
    const std::vector<NamedTensor>& tensors,
    const SafetensorsMetadata& metadata = {});

}  // namespace titan::checkpoint
