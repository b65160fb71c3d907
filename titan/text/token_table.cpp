#include "titan/text/token_table.h"

#include <limits>

#include "titan/base/error.h"
#include "titan/text/text_hash.h"

namespace titan::text {

void TokenTable::add(std::string_view text, int32_t id) {
  if (texts_.size() + text.size() > std::numeric_limits<uint32_t>::max()) {
    fail<FormatError>("a vocabulary of more than 4 GB of text");
  }
  if (2 * (size_ + 1) > slots_.size()) {
    grow();
  }
  put(
      {.id = id,
       .tag = static_cast<uint32_t>(hash_bytes(text) >> 32),
       .offset = static_cast<uint32_t>(texts_.size()),
       .size = static_cast<uint32_t>(text.size())});
  texts_ += text;
  ++size_;
}

std::optional<int32_t> TokenTable::find(std::string_view text, uint64_t hash) const {
  if (slots_.empty()) {
    return std::nullopt;
  }
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t at = tag & mask; slots_[at].id != kEmpty; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.tag == tag &&
        std::string_view(texts_).substr(slot.offset, slot.size) == text) {
      return slot.id;
    }
  }
  return std::nullopt;
}

std::optional<int32_t> TokenTable::find(std::string_view text) const {
  return find(text, hash_bytes(text));
}

void TokenTable::grow() {
  std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id != kEmpty) {
      put(slot);
    }
  }
}

void TokenTable::put(const Slot& slot) {
  const size_t mask = slots_.size() - 1;
  size_t at = slot.tag & mask;
  while (slots_[at].id != kEmpty) {
    at = (at + 1) & mask;
  }
  slots_[at] = slot;
}

}  // namespace titan::text
