#pragma once
// Code points numbered by which of some sets they are in.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "titan/text/code_point_set.h"

namespace titan::text {

// Two code points are in the same class where no set tells them apart. Immutable and
// thread-safe.
class CharacterClasses {
 public:
  // nullopt: more than 254 classes.
  [[nodiscard]] static std::optional<CharacterClasses> make(
      std::span<const CodePointSet> sets);

  [[nodiscard]] uint8_t class_of(char32_t point) const {
    return blocks_[static_cast<size_t>(block_of_page_[point >> 8]) << 8 | (point & 0xFF)];
  }

  [[nodiscard]] uint8_t class_of_ascii(unsigned char byte) const { return ascii_[byte]; }

  [[nodiscard]] size_t count() const { return members_.size(); }

  // REQUIRES: set < sets.size(), character_class < count().
  [[nodiscard]] bool is_in(size_t set, size_t character_class) const {
    return members_[character_class][set];
  }

 private:
  static constexpr size_t kPages = (kLastCodePoint + 1) >> 8;

  void add_page(std::span<const uint8_t> page);

  std::array<uint8_t, 128> ascii_{};
  std::vector<uint16_t> block_of_page_;     // equal pages share a block
  std::vector<uint8_t> blocks_;             // 256 classes each
  std::vector<std::vector<bool>> members_;  // [class][set]
};

}  // namespace titan::text
