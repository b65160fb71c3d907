#include "titan/checkpoint/gguf_cursor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "titan/base/error.h"

namespace titan::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read little-endian");

// Vocabularies have less than a million entries; a value takes 16 bytes in memory, so
// this also bounds what a hostile file can ask for.
constexpr uint64_t kMaxArray = uint64_t{1} << 24;
constexpr int kMaxDepth = 4;

// The double whose shortest text is the float's.
double shortest_double(float value) {
  if (!std::isfinite(value)) {
    return value;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = 0;
  std::from_chars(text, end, result);
  return result;
}

}  // namespace

const std::byte* GgufCursor::take(uint64_t count, std::string_view what) {
  const uint64_t left = bytes_.size() - position_;
  if (count > left) {
    fail<FormatError>(
        "{}: byte {}: truncated: {} needs {} bytes, {} are left",
        path_,
        position_,
        what,
        count,
        left);
  }
  const std::byte* start = bytes_.data() + position_;
  position_ += count;
  return start;
}

std::string GgufCursor::string(std::string_view what) {
  const auto length = number<uint64_t>(what);
  const auto* start = reinterpret_cast<const char*>(take(length, what));
  return {start, length};
}

Json GgufCursor::array(const std::string& key, int depth) {
  const auto type = number<uint32_t>(key);
  const auto count = number<uint64_t>(key);
  if (count > std::min<uint64_t>(kMaxArray, bytes_.size() - position_)) {
    fail<FormatError>(
        "{}: byte {}: {}: an array of {} elements is more than the file or the limit of "
        "{} "
        "allows",
        path_,
        position_,
        key,
        count,
        kMaxArray);
  }
  Json result = Json::array();
  for (uint64_t i = 0; i < count; ++i) {
    result.push_back(value(type, key, depth + 1));
  }
  return result;
}

Json GgufCursor::value(uint32_t type, const std::string& key, int depth) {
  if (depth > kMaxDepth) {
    fail<FormatError>(
        "{}: byte {}: {}: arrays nested deeper than {}",
        path_,
        position_,
        key,
        kMaxDepth);
  }
  switch (type) {
    case 0:
      return number<uint8_t>(key);
    case 1:
      return number<int8_t>(key);
    case 2:
      return number<uint16_t>(key);
    case 3:
      return number<int16_t>(key);
    case 4:
      return number<uint32_t>(key);
    case 5:
      return number<int32_t>(key);
    case 6:
      return shortest_double(number<float>(key));
    case 7: {
      const auto flag = number<uint8_t>(key);
      if (flag > 1) {
        fail<FormatError>(
            "{}: byte {}: {}: expected a boolean 0 or 1, got {}",
            path_,
            position_ - 1,
            key,
            flag);
      }
      return flag == 1;
    }
    case 8:
      return string(key);
    case 9:
      return array(key, depth);
    case 10:
      return number<uint64_t>(key);
    case 11:
      return number<int64_t>(key);
    case 12:
      return number<double>(key);
    default:
      fail<FormatError>(
          "{}: byte {}: {}: value type {} is not known", path_, position_, key, type);
  }
}

}  // namespace titan::checkpoint
