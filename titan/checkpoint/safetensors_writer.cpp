#include "titan/checkpoint/safetensors_writer.h"

#include <algorithm>
#include <unordered_map>

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "titan/base/error.h"

namespace titan::checkpoint {
namespace {

// Upper bound of the copy that a tensor of foreign strides or device passes through.
constexpr int64_t kStagingBytes = int64_t{4} << 20;

const SafetensorsDtype& dtype_of(const TensorSpec& spec, const fs::path& path) {
  const SafetensorsDtype* dtype = find_safetensors_dtype(spec.dtype);
  if (dtype == nullptr) {
    fail<InputError>(
        "{}: tensor \"{}\": the safetensors format has no dtype {}",
        path.string(),
        spec.name,
        c10::toString(spec.dtype));
  }
  return *dtype;
}

void sort_for_layout(std::vector<TensorSpec>& specs, const fs::path& path) {
  std::sort(specs.begin(), specs.end(), [&](const TensorSpec& a, const TensorSpec& b) {
    // Entries of one table: the later one is at least as wide.
    const SafetensorsDtype* left = &dtype_of(a, path);
    const SafetensorsDtype* right = &dtype_of(b, path);
    return left != right ? left > right : a.name < b.name;
  });
}

std::string quoted(const std::string& text, const fs::path& path) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail<InputError>(
        "{}: a tensor name or metadata entry is not valid UTF-8", path.string());
  }
}

std::string header_text(
    const std::vector<TensorSpec>& order,
    const SafetensorsMetadata& metadata,
    const fs::path& path) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) {
      pairs.push_back(quoted(key, path) + ":" + quoted(value, path));
    }
    members.push_back(fmt::format("\"__metadata__\":{{{}}}", fmt::join(pairs, ",")));
  }
  uint64_t position = 0;
  for (const TensorSpec& spec : order) {
    const uint64_t end = position + spec.nbytes();
    members.push_back(fmt::format(
        R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
        quoted(spec.name, path),
        dtype_of(spec, path).name,
        fmt::join(spec.shape, ","),
        position,
        end));
    position = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(members, ","));
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data start on 8 bytes
  return text;
}

}  // namespace

uint64_t TensorSpec::nbytes() const {
  uint64_t bytes = c10::elementSize(dtype);
  for (const int64_t dim : shape) {
    bytes *= static_cast<uint64_t>(dim);
  }
  return bytes;
}

SafetensorsWriter::SafetensorsWriter(
    const fs::path& path,
    std::vector<TensorSpec> specs,
    const SafetensorsMetadata& metadata)
    : path_(path), order_(std::move(specs)) {
  sort_for_layout(order_, path);
  std::unordered_map<std::string_view, const TensorSpec*> seen;
  uint64_t data_bytes = 0;
  for (const TensorSpec& spec : order_) {
    if (!seen.emplace(spec.name, &spec).second) {
      fail<InputError>("{}: tensor \"{}\" is given twice", path.string(), spec.name);
    }
    data_bytes += spec.nbytes();
  }
  const std::string header = header_text(order_, metadata, path);
  if (header.size() > kMaxSafetensorsHeader) {
    fail<InputError>(
        "{}: {} tensors need a header of {} bytes, the format's limit is {}",
        path.string(),
        order_.size(),
        header.size(),
        kMaxSafetensorsHeader);
  }
  const uint64_t length = header.size();
  file_bytes_ = sizeof length + length + data_bytes;
  file_.emplace(path);
  file_->write(std::as_bytes(std::span(&length, 1)));
  file_->write(header);
}

void SafetensorsWriter::write(const at::Tensor& tensor) {
  TORCH_CHECK(written_ < order_.size(), "[SafetensorsWriter] all tensors are written");
  const TensorSpec& spec = order_[written_];
  TORCH_CHECK(
      tensor.scalar_type() == spec.dtype && tensor.sizes() == spec.shape,
      "[SafetensorsWriter] \"",
      spec.name,
      "\": expected ",
      spec.dtype,
      " ",
      at::IntArrayRef(spec.shape),
      ", got ",
      tensor.scalar_type(),
      " ",
      tensor.sizes());
  ++written_;
  write_strided(tensor.detach());
}

void SafetensorsWriter::write_strided(const at::Tensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.nbytes());
  if (bytes == 0) {
    return;
  }
  if (tensor.is_cpu() && tensor.is_contiguous()) {
    file_->write(std::span(
        static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
  } else if (bytes <= kStagingBytes) {
    write_strided(tensor.cpu().contiguous());
  } else if (tensor.size(0) == 1) {
    write_strided(tensor.select(0, 0));
  } else {
    const int64_t rows = std::max<int64_t>(1, kStagingBytes / (bytes / tensor.size(0)));
    for (int64_t row = 0; row < tensor.size(0); row += rows) {
      write_strided(tensor.narrow(0, row, std::min(rows, tensor.size(0) - row)));
    }
  }
}

void SafetensorsWriter::sync_and_close() {
  TORCH_CHECK(
      written_ == order_.size(),
      "[SafetensorsWriter] ",
      written_,
      " of ",
      order_.size(),
      " tensors were written");
  file_->sync_and_close();
}

void write_safetensors(
    const fs::path& path,
    const std::vector<NamedTensor>& tensors,
    const SafetensorsMetadata& metadata) {
  std::vector<TensorSpec> specs;
  std::unordered_map<std::string, at::Tensor> by_name;
  for (const auto& [name, tensor] : tensors) {
    specs.push_back({name, tensor.scalar_type(), tensor.sizes().vec()});
    by_name.emplace(name, tensor);
  }
  SafetensorsWriter writer(path, std::move(specs), metadata);
  for (const TensorSpec& spec : writer.order()) {
    writer.write(by_name.at(spec.name));
  }
  writer.sync_and_close();
}

}  // namespace titan::checkpoint
