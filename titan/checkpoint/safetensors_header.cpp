#include "titan/checkpoint/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "titan/base/error.h"
#include "titan/checkpoint/foreign_content.h"

namespace titan::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

// Event handler for nlohmann's parser that accepts this schema and nothing else, so that
// a hostile header cannot make it build anything large or deep.
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

  bool null() { unexpected("null"); }

  bool boolean(bool) { unexpected("true or false"); }

  bool number_integer(int64_t value) { unexpected(fmt::format("{}", value)); }

  bool number_float(double value, const std::string&) {
    unexpected(fmt::format("{}", value));
  }

  bool binary(std::vector<uint8_t>&) { unexpected("binary data"); }

  bool number_unsigned(uint64_t value) {
    if (place_ == Place::kShape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        unexpected(fmt::format("{}", value));
      }
      entry_.shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::kOffsets && offsets_.size() < 2) {
      offsets_.push_back(value);
    } else {
      unexpected(fmt::format("{}", value));
    }
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadataValue) {
      if (!header_.metadata.emplace(key_, value).second) {
        fail<FormatError>("{}: header: metadata \"{}\" occurs twice", path_, key_);
      }
      place_ = Place::kMetadata;
    } else if (place_ == Place::kDtypeValue) {
      entry_.dtype = find_safetensors_dtype(value);
      if (entry_.dtype == nullptr) {
        fail<FormatError>(
            "{}: tensor \"{}\": dtype \"{}\" is not known", path_, name_, value);
      }
      place_ = Place::kTensor;
    } else {
      unexpected(fmt::format("\"{}\"", value));
    }
    return true;
  }

  bool start_object(size_t) {
    switch (place_) {
      case Place::kStart:
        place_ = Place::kTop;
        break;
      case Place::kTensorStart:
        place_ = Place::kTensor;
        break;
      case Place::kMetadataStart:
        place_ = Place::kMetadata;
        break;
      default:
        unexpected("an object");
    }
    return true;
  }

  bool key(std::string& value) {
    switch (place_) {
      case Place::kTop:
        start_member(value);
        break;
      case Place::kMetadata:
        key_ = value;
        place_ = Place::kMetadataValue;
        break;
      default:  // the parser gives keys only inside objects
        start_field(value);
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTensor) {
      finish_tensor();
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(size_t) {
    if (place_ == Place::kShapeStart) {
      place_ = Place::kShape;
    } else if (place_ == Place::kOffsetsStart) {
      place_ = Place::kOffsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() {
    if (place_ == Place::kOffsets && offsets_.size() != 2) {
      unexpected(fmt::format("{} numbers", offsets_.size()));
    }
    place_ = Place::kTensor;
    return true;
  }

  template <class ParseError>
  bool parse_error(size_t position, const std::string&, const ParseError& error) {
    const std::string message = error.what();
    const size_t colon = message.rfind(": ");
    fail<FormatError>(
        "{}: header byte {}: not valid JSON: {}",
        path_,
        position,
        colon == std::string::npos ? message : message.substr(colon + 2));
  }

 private:
  enum class Place {
    kStart,
    kTop,
    kTensorStart,
    kTensor,
    kDtypeValue,
    kShapeStart,
    kShape,
    kOffsetsStart,
    kOffsets,
    kMetadataStart,
    kMetadata,
    kMetadataValue,
    kEnd,
  };

  [[nodiscard]] const char* expectation() const {
    switch (place_) {
      case Place::kDtypeValue:
        return "dtype as a string";
      case Place::kShapeStart:
      case Place::kShape:
        return "shape as a list of counts";
      case Place::kOffsetsStart:
      case Place::kOffsets:
        return "data_offsets as [begin, end]";
      case Place::kMetadataStart:
      case Place::kMetadataValue:
        return "metadata as an object of strings";
      default:
        return "an object";
    }
  }

  [[noreturn]] void unexpected(const std::string& got) const {
    const std::string where =
        name_.empty() ? "header" : fmt::format("tensor \"{}\"", name_);
    fail<FormatError>("{}: {}: expected {}, got {}", path_, where, expectation(), got);
  }

  void start_member(const std::string& name) {
    if (name == "__metadata__") {
      name_.clear();
      if (metadata_seen_) {
        fail<FormatError>("{}: header: \"__metadata__\" occurs twice", path_);
      }
      metadata_seen_ = true;
      place_ = Place::kMetadataStart;
      return;
    }
    name_ = name;
    entry_ = {};
    offsets_.clear();
    fields_seen_ = 0;
    place_ = Place::kTensorStart;
  }

  void start_field(const std::string& field) {
    unsigned bit = 0;
    if (field == "dtype") {
      bit = 1;
      place_ = Place::kDtypeValue;
    } else if (field == "shape") {
      bit = 2;
      place_ = Place::kShapeStart;
    } else if (field == "data_offsets") {
      bit = 4;
      place_ = Place::kOffsetsStart;
    } else {
      fail<FormatError>(
          "{}: tensor \"{}\": expected dtype, shape and data_offsets, got \"{}\"",
          path_,
          name_,
          field);
    }
    if ((fields_seen_ & bit) != 0) {
      fail<FormatError>("{}: tensor \"{}\": {} occurs twice", path_, name_, field);
    }
    fields_seen_ |= bit;
  }

  void finish_tensor() {
    if (fields_seen_ != 7) {
      fail<FormatError>(
          "{}: tensor \"{}\": {} is missing",
          path_,
          name_,
          (fields_seen_ & 1) == 0   ? "dtype"
          : (fields_seen_ & 2) == 0 ? "shape"
                                    : "data_offsets");
    }
    const auto [begin, end] = std::pair(offsets_[0], offsets_[1]);
    entry_.nbytes = bytes_of_shape();
    if (begin > end || end - begin != entry_.nbytes) {
      fail<FormatError>(
          "{}: tensor \"{}\": {} [{}] needs {} bytes, but data_offsets are [{}, {}]",
          path_,
          name_,
          entry_.dtype->name,
          fmt::join(entry_.shape, ", "),
          entry_.nbytes,
          begin,
          end);
    }
    entry_.offset = begin;
    if (!header_.entries.emplace(name_, std::move(entry_)).second) {
      fail<FormatError>("{}: tensor \"{}\" occurs twice", path_, name_);
    }
    header_.names.push_back(name_);
  }

  // Strides are products of the other dims, so an empty tensor must not overflow either.
  [[nodiscard]] uint64_t bytes_of_shape() const {
    int64_t bits = entry_.dtype->bits;
    bool empty = false;
    for (const int64_t dim : entry_.shape) {
      empty = empty || dim == 0;
      if (__builtin_mul_overflow(bits, std::max<int64_t>(dim, 1), &bits)) {
        fail<FormatError>(
            "{}: tensor \"{}\": shape [{}] is too large to address",
            path_,
            name_,
            fmt::join(entry_.shape, ", "));
      }
    }
    if (!empty && bits % 8 != 0) {
      fail<FormatError>(
          "{}: tensor \"{}\": {} [{}] does not fill whole bytes",
          path_,
          name_,
          entry_.dtype->name,
          fmt::join(entry_.shape, ", "));
    }
    return empty ? 0 : static_cast<uint64_t>(bits) / 8;
  }

  const std::string& path_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  bool metadata_seen_ = false;
  // The member being read.
  std::string name_;
  std::string key_;
  SafetensorsEntry entry_;
  std::vector<uint64_t> offsets_;
  unsigned fields_seen_ = 0;
};

uint64_t header_length(std::span<const std::byte> file, const std::string& path) {
  uint64_t length = 0;
  if (file.size() < sizeof length) {
    fail<FormatError>(
        "{}: not a safetensors file: expected at least 8 bytes, got {}{}",
        path,
        file.size(),
        foreign_content_hint(file));
  }
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) {
    fail<FormatError>(
        "{}: header length {} exceeds file size {}{}",
        path,
        length,
        file.size(),
        foreign_content_hint(file));
  }
  if (length > kMaxSafetensorsHeader) {
    fail<FormatError>(
        "{}: header length {} exceeds the limit of {} bytes",
        path,
        length,
        kMaxSafetensorsHeader);
  }
  return length;
}

// The tensors must tile the data: no hole, no overlap, nothing after the last. Turns
// offsets in the data into offsets in the file.
void check_layout(
    SafetensorsHeader& header, uint64_t start, uint64_t size, const std::string& path) {
  std::stable_sort(
      header.names.begin(), header.names.end(), [&](const auto& a, const auto& b) {
        const SafetensorsEntry& left = header.entries.at(a);
        const SafetensorsEntry& right = header.entries.at(b);
        return std::pair(left.offset, left.nbytes) <
               std::pair(right.offset, right.nbytes);
      });
  uint64_t position = 0;
  for (const std::string& name : header.names) {
    SafetensorsEntry& entry = header.entries.at(name);
    if (entry.offset != position) {
      fail<FormatError>(
          "{}: tensor \"{}\": data_offsets begin at {}, expected {}: {}",
          path,
          name,
          entry.offset,
          position,
          entry.offset > position ? "bytes before it belong to no tensor"
                                  : "it overlaps the tensor before it");
    }
    position += entry.nbytes;
    entry.offset += start;
  }
  if (start + position != size) {
    fail<FormatError>(
        "{}: {}: the header describes {} bytes, the file has {}",
        path,
        start + position > size ? "truncated" : "trailing bytes",
        start + position,
        size);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(
    std::span<const std::byte> file, const std::string& path) {
  const uint64_t length = header_length(file, path);
  const char* text = reinterpret_cast<const char*>(file.data()) + sizeof length;
  if (length == 0 || text[0] != '{') {
    fail<FormatError>(
        "{}: header byte 1: expected '{{'{}", path, length == 0 ? ", got nothing" : "");
  }
  HeaderReader reader(path);
  nlohmann::json::sax_parse(text, text + length, &reader);
  SafetensorsHeader header = reader.take();
  check_layout(header, sizeof length + length, file.size(), path);
  return header;
}

}  // namespace titan::checkpoint
