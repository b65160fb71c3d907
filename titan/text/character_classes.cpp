#include "titan/text/character_classes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace titan::text {
namespace {

constexpr size_t kMaxClasses = 254;

// Where membership changes: at `point` for set number `set`.
struct Border {
  char32_t point;
  size_t set;
};

std::vector<Border> borders_of(std::span<const CodePointSet> sets) {
  std::vector<Border> borders;
  for (size_t set = 0; set < sets.size(); ++set) {
    for (const auto& [first, last] : sets[set].intervals()) {
      borders.push_back({first, set});
      borders.push_back({last + 1, set});
    }
  }
  std::ranges::sort(borders, {}, &Border::point);
  return borders;
}

}  // namespace

std::optional<CharacterClasses> CharacterClasses::make(
    std::span<const CodePointSet> sets) {
  CharacterClasses result;
  std::vector<uint8_t> class_at(kLastCodePoint + 1);
  std::map<std::vector<bool>, size_t> known;
  std::vector<bool> membership(sets.size());
  char32_t begin = 0;
  const auto number_up_to = [&](char32_t end) {
    if (begin < end) {
      const size_t number = known.try_emplace(membership, known.size()).first->second;
      if (number == result.members_.size()) {
        result.members_.push_back(membership);
      }
      std::fill(class_at.begin() + begin, class_at.begin() + end, number);
      begin = end;
    }
  };
  for (const Border& border : borders_of(sets)) {
    number_up_to(border.point);
    membership[border.set] = !membership[border.set];
  }
  number_up_to(kLastCodePoint + 1);
  if (result.members_.size() > kMaxClasses) {
    return std::nullopt;
  }
  std::copy_n(class_at.begin(), result.ascii_.size(), result.ascii_.begin());
  for (size_t page = 0; page < kPages; ++page) {
    result.add_page(std::span(class_at).subspan(page << 8, 256));
  }
  return result;
}

void CharacterClasses::add_page(std::span<const uint8_t> page) {
  for (size_t block = 0; block < blocks_.size() >> 8; ++block) {
    if (std::ranges::equal(page, std::span(blocks_).subspan(block << 8, 256))) {
      block_of_page_.push_back(static_cast<uint16_t>(block));
      return;
    }
  }
  block_of_page_.push_back(static_cast<uint16_t>(blocks_.size() >> 8));
  blocks_.insert(blocks_.end(), page.begin(), page.end());
}

}  // namespace titan::text
