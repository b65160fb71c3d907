#pragma once
// Writes small GGUF files for tests, right or wrong ones.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace titan::checkpoint {

// Collects metadata and tensors; bytes() is the file. Values of any type are given as
// their stored bytes.
class TestGgufWriter {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;

  template <class T>
  static std::string raw(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

  static std::string text(const std::string& value) {
    return raw<uint64_t>(value.size()) + value;
  }

  // An array of elements that are stored bytes already.
  static std::string array(uint32_t type, const std::vector<std::string>& elements) {
    std::string bytes = raw(type) + raw<uint64_t>(elements.size());
    for (const std::string& element : elements) {
      bytes += element;
    }
    return bytes;
  }

  void add(const std::string& key, uint32_t type, const std::string& value) {
    values_ += text(key) + raw(type) + value;
    ++num_values_;
  }

  void add_u32(const std::string& key, uint32_t value) { add(key, 4, raw(value)); }

  void add_f32(const std::string& key, float value) { add(key, 6, raw(value)); }

  void add_text(const std::string& key, const std::string& value) {
    add(key, 8, text(value));
  }

  // `dims` innermost first, as the format stores them.
  void add_tensor(
      const std::string& name,
      const std::vector<uint64_t>& dims,
      uint32_t type,
      const std::string& data) {
    add_tensor_at(name, dims, type, data_.size());
    data_ += data;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
  }

  // A row of the table only.
  void add_tensor_at(
      const std::string& name,
      const std::vector<uint64_t>& dims,
      uint32_t type,
      uint64_t offset) {
    table_ += text(name) + raw<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) {
      table_ += raw(dim);
    }
    table_ += raw(type) + raw(offset);
    ++num_tensors_;
  }

  [[nodiscard]] std::string bytes() const {
    std::string file =
        "GGUF" + raw(version) + raw(num_tensors_) + raw(num_values_) + values_ + table_;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data_;
  }

 private:
  std::string values_;
  std::string table_;
  std::string data_;
  uint64_t num_values_ = 0;
  uint64_t num_tensors_ = 0;
};

}  // namespace titan::checkpoint
