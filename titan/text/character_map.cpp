#include "titan/text/character_map.h"

#include <cstring>

#include "titan/base/error.h"

namespace titan::text {
namespace {

// The fields of a unit, as darts-clone lays them out.
uint32_t label_of(uint32_t unit) {
  return unit & (1U << 31 | 0xFF);
}

bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}

uint32_t offset_of(uint32_t unit) {
  return unit >> 10 << ((unit & 1U << 9) >> 6);
}

uint32_t value_of(uint32_t unit) {
  return unit & 0x7FFFFFFF;
}

}  // namespace

CharacterMap::CharacterMap(std::string_view blob, const std::string& where) {
  uint32_t size = 0;
  if (blob.size() >= sizeof(size)) {
    std::memcpy(&size, blob.data(), sizeof(size));
    blob.remove_prefix(sizeof(size));
  }
  if (size == 0 || size % sizeof(uint32_t) != 0 || size > blob.size()) {
    fail<FormatError>(
        "{}: expected a character map: a trie of {} bytes in {}",
        where,
        size,
        blob.size());
  }
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), blob.data(), size);
  replacements_ = blob.substr(size);
}

std::optional<CharacterMap::Match> CharacterMap::longest(std::string_view text) const {
  return find(text, true);
}

std::optional<CharacterMap::Match> CharacterMap::shortest(std::string_view text) const {
  return find(text, false);
}

std::optional<CharacterMap::Match> CharacterMap::find(
    std::string_view text, bool longest) const {
  std::optional<Match> best;
  size_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) {
      break;
    }
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit) || node >= units_.size()) {
      continue;
    }
    const size_t begin = value_of(units_[node]);
    if (begin < replacements_.size()) {
      const size_t end = replacements_.find('\0', begin);
      best = {i + 1, std::string_view(replacements_).substr(begin, end - begin)};
      if (!longest) {
        break;
      }
    }
  }
  return best;
}

}  // namespace titan::text
