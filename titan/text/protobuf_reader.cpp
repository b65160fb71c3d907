#include "titan/text/protobuf_reader.h"

#include <cstring>

#include "titan/base/error.h"

namespace titan::text {

bool ProtobufReader::next() {
  if (at_ == bytes_.size()) {
    return false;
  }
  const uint64_t tag = take_varint();
  field_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  switch (type_) {
    case WireType::kVarint:
      number_ = take_varint();
      return true;
    case WireType::kFixed64:
      value_ = take(8);
      return true;
    case WireType::kBytes:
      value_ = take(take_varint());
      return true;
    case WireType::kFixed32:
      value_ = take(4);
      return true;
  }
  refuse("a field of a known wire type");
}

uint64_t ProtobufReader::number() const {
  expect(WireType::kVarint);
  return number_;
}

float ProtobufReader::fixed32() const {
  expect(WireType::kFixed32);
  float value = 0;
  std::memcpy(&value, value_.data(), sizeof(value));
  return value;
}

std::string_view ProtobufReader::bytes() const {
  expect(WireType::kBytes);
  return value_;
}

ProtobufReader ProtobufReader::message() const {
  expect(WireType::kBytes);
  return {value_, name_, offset_ + static_cast<size_t>(value_.data() - bytes_.data())};
}

uint64_t ProtobufReader::take_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  refuse("a number of at most 10 bytes");
}

std::string_view ProtobufReader::take(size_t size) {
  if (size > bytes_.size() - at_) {
    refuse("more bytes");
  }
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

void ProtobufReader::expect(WireType type) const {
  if (type_ != type) {
    refuse("a value of another wire type");
  }
}

void ProtobufReader::refuse(const char* what) const {
  fail<FormatError>(
      "{}: not a SentencePiece model: expected {} at byte {}",
      name_,
      what,
      offset_ + at_);
}

}  // namespace titan::text
