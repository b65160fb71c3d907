#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace titan::text {

// Walks the fields of one protobuf message in the wire format (protobuf.dev/programming-
// guides/encoding). FormatError names `name` and the offset of what is broken.
class ProtobufReader {
 public:
  ProtobufReader(std::string_view bytes, std::string name, size_t offset = 0)
      : bytes_(bytes), name_(std::move(name)), offset_(offset) {}

  // Goes to the next field; false at the end of the message.
  bool next();

  [[nodiscard]] uint32_t field() const { return field_; }

  // The value of the field; each call asks for the wire type that the value has.
  [[nodiscard]] uint64_t number() const;
  [[nodiscard]] float fixed32() const;
  [[nodiscard]] std::string_view bytes() const;
  [[nodiscard]] ProtobufReader message() const;

 private:
  enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  uint64_t take_varint();
  std::string_view take(size_t size);
  void expect(WireType type) const;
  [[noreturn]] void refuse(const char* what) const;

  std::string_view bytes_;
  std::string name_;
  size_t offset_;  // of bytes_ in the file
  size_t at_ = 0;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  std::string_view value_;
};

}  // namespace titan::text
