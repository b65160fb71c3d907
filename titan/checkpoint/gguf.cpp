#include "titan/checkpoint/gguf.h"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/base/nearest.h"
#include "titan/checkpoint/foreign_content.h"
#include "titan/checkpoint/gguf_cursor.h"

namespace titan::checkpoint {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kDefaultAlignment = 32;

struct Counts {
  uint64_t tensors;
  uint64_t values;
};

Counts read_preamble(GgufCursor& cursor, std::span<const std::byte> file) {
  if (file.size() < sizeof kMagic || cursor.number<uint32_t>("magic") != kMagic) {
    fail<FormatError>(
        "{}: expected a GGUF file, which starts with \"GGUF\"{}",
        cursor.path(),
        foreign_content_hint(file));
  }
  const auto version = cursor.number<uint32_t>("version");
  if (version != 2 && version != 3) {
    fail<FormatError>(
        "{}: expected GGUF version 2 or 3, got {}",
        cursor.path(),
        version != 0 && (version & 0xFFFF) == 0 ? "a big-endian file"
                                                : std::to_string(version));
  }
  const auto tensors = cursor.number<uint64_t>("tensor count");
  return {tensors, cursor.number<uint64_t>("metadata count")};
}

uint64_t alignment_of(
    const std::map<std::string, Json>& metadata, const std::string& path) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) {
    return kDefaultAlignment;
  }
  const uint64_t value =
      found->second.is_number_unsigned() ? found->second.get<uint64_t>() : 0;
  if (value == 0 || value % 8 != 0 || value > std::numeric_limits<uint32_t>::max()) {
    fail<FormatError>(
        "{}: general.alignment: expected a multiple of 8, got {}",
        path,
        found->second.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  return value;
}

// One row of the tensor table; the offset is still relative to the data.
GgufTensorInfo read_tensor_info(GgufCursor& cursor, const std::string& name) {
  GgufTensorInfo info;
  const auto dims = cursor.number<uint32_t>(name);
  if (dims == 0 || dims > kMaxDims) {
    fail<FormatError>(
        "{}: tensor \"{}\": expected 1 to {} dims, got {}",
        cursor.path(),
        name,
        kMaxDims,
        dims);
  }
  int64_t values = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    const auto dim = cursor.number<uint64_t>(name);
    const bool fits = dim > 0 && dim <= std::numeric_limits<int64_t>::max();
    if (!fits || __builtin_mul_overflow(values, static_cast<int64_t>(dim), &values)) {
      fail<FormatError>(
          "{}: tensor \"{}\": dim {} of size {} is empty or too large to address",
          cursor.path(),
          name,
          i,
          dim);
    }
    info.shape.insert(info.shape.begin(), static_cast<int64_t>(dim));
  }
  const auto type = cursor.number<uint32_t>(name);
  info.format = find_ggml_format(type);
  if (info.format == nullptr) {
    fail<FormatError>(
        "{}: tensor \"{}\": type {} cannot be read; the readable types are {}",
        cursor.path(),
        name,
        ggml_type_name(type),
        readable_ggml_types());
  }
  if (info.shape.back() % info.format->block_values != 0) {
    fail<FormatError>(
        "{}: tensor \"{}\": rows of {} values do not fill {} blocks of {}",
        cursor.path(),
        name,
        info.shape.back(),
        info.format->name,
        info.format->block_values);
  }
  int64_t bytes = values / info.format->block_values;
  if (__builtin_mul_overflow(bytes, info.format->block_bytes, &bytes)) {
    fail<FormatError>(
        "{}: tensor \"{}\": shape [{}] is too large to address",
        cursor.path(),
        name,
        fmt::join(info.shape, ", "));
  }
  info.nbytes = static_cast<uint64_t>(bytes);
  info.offset = cursor.number<uint64_t>(name);
  return info;
}

// `named` in the order of the data: inside the file, aligned, and none over another.
void check_layout(
    std::vector<std::pair<std::string, GgufTensorInfo*>> named,
    uint64_t alignment,
    const MappedFile& file,
    uint64_t data_start) {
  std::sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
    return a.second->offset < b.second->offset;
  });
  const std::string path = file.path().string();
  const uint64_t size = file.bytes().size();
  const uint64_t data_bytes = data_start < size ? size - data_start : 0;
  uint64_t position = 0;
  for (const auto& [name, info] : named) {
    if (info->offset % alignment != 0) {
      fail<FormatError>(
          "{}: tensor \"{}\": offset {} is not a multiple of the alignment {}",
          path,
          name,
          info->offset,
          alignment);
    }
    if (info->offset < position) {
      fail<FormatError>(
          "{}: tensor \"{}\": offset {} overlaps the tensor before it, which ends at {}",
          path,
          name,
          info->offset,
          position);
    }
    if (info->offset > data_bytes || info->nbytes > data_bytes - info->offset) {
      fail<FormatError>(
          "{}: truncated: tensor \"{}\" needs {} bytes at offset {}, the data have {}",
          path,
          name,
          info->nbytes,
          info->offset,
          data_bytes);
    }
    position = info->offset + info->nbytes;
    info->offset += data_start;
  }
}

}  // namespace

GgufFile::GgufFile(const fs::path& path) : file_(std::make_shared<MappedFile>(path)) {
  GgufCursor cursor(file_->bytes(), path.string());
  const Counts counts = read_preamble(cursor, file_->bytes());
  for (uint64_t i = 0; i < counts.values; ++i) {
    const std::string key = cursor.string("metadata key");
    const auto type = cursor.number<uint32_t>(key);
    if (!metadata_.emplace(key, cursor.value(type, key)).second) {
      fail<FormatError>("{}: {} occurs twice", path.string(), key);
    }
  }
  for (uint64_t i = 0; i < counts.tensors; ++i) {
    const std::string name = cursor.string("tensor name");
    if (!tensors_.emplace(name, read_tensor_info(cursor, name)).second) {
      fail<FormatError>("{}: tensor \"{}\" occurs twice", path.string(), name);
    }
    names_.push_back(name);
  }
  const uint64_t alignment = alignment_of(metadata_, path.string());
  const uint64_t data_start = (cursor.position() + alignment - 1) / alignment * alignment;
  std::vector<std::pair<std::string, GgufTensorInfo*>> named;
  for (auto& [name, info] : tensors_) {
    named.emplace_back(name, &info);
  }
  check_layout(std::move(named), alignment, *file_, data_start);
}

const GgufTensorInfo& GgufFile::info(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    const std::string nearest = nearest_name(name, names_);
    fail<InputError>(
        "{}: no tensor \"{}\"{}",
        path().string(),
        name,
        nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  }
  return found->second;
}

std::span<const std::byte> GgufFile::bytes(const std::string& name) const {
  const GgufTensorInfo& tensor = info(name);
  return file_->bytes().subspan(tensor.offset, tensor.nbytes);
}

at::Tensor GgufFile::tensor(const std::string& name, at::ScalarType dtype) const {
  TORCH_CHECK(
      dtype == at::kFloat || dtype == at::kBFloat16,
      "[GgufFile] expected Float or BFloat16, got ",
      dtype);
  const GgufTensorInfo& stored = info(name);
  at::Tensor values = at::empty(stored.shape, at::kFloat);
  dequantize(
      *stored.format,
      bytes(name),
      {values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values.to(dtype);
}

}  // namespace titan::checkpoint
