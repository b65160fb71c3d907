#include "titan/checkpoint/safetensors.h"

#include <cstring>

#include <ATen/ATen.h>

#include "titan/base/error.h"
#include "titan/base/nearest.h"

namespace titan::checkpoint {

SafetensorsFile::SafetensorsFile(const fs::path& path)
    : file_(std::make_shared<const MappedFile>(path)),
      header_(parse_safetensors_header(file_->bytes(), path.string())) {}

bool SafetensorsFile::contains(const std::string& name) const {
  return header_.entries.contains(name);
}

const SafetensorsEntry& SafetensorsFile::info(const std::string& name) const {
  const auto found = header_.entries.find(name);
  if (found == header_.entries.end()) {
    const std::string nearest = nearest_name(name, header_.names);
    fail<InputError>(
        "{}: no tensor \"{}\"{}",
        path().string(),
        name,
        nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  }
  return found->second;
}

std::span<const std::byte> SafetensorsFile::bytes(const std::string& name) const {
  const SafetensorsEntry& entry = info(name);
  return file_->bytes().subspan(entry.offset, entry.nbytes);
}

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const SafetensorsEntry& entry = info(name);
  if (!entry.dtype->scalar) {
    fail<FormatError>(
        "{}: tensor \"{}\": dtype {} cannot be read as a tensor",
        path().string(),
        name,
        entry.dtype->name);
  }
  const auto options = at::TensorOptions(*entry.dtype->scalar);
  if (entry.nbytes == 0) {
    return at::empty(entry.shape, options);
  }
  auto* data = const_cast<std::byte*>(bytes(name).data());
  const auto alignment = static_cast<uintptr_t>(entry.dtype->bits / 8);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    at::Tensor copy = at::empty(entry.shape, options);
    std::memcpy(copy.mutable_data_ptr(), data, entry.nbytes);
    return copy;
  }
  return at::from_blob(
      data, entry.shape, [keep = file_](void*) {}, options);
}

}  // namespace titan::checkpoint
