#pragma once
// Remembers how pieces were encoded: most words of a text occur many times.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace titan::text {

// A table of fixed size from short pieces to few ids; a new piece replaces what was in
// its place. One cache line a piece. Not thread-safe: each caller has its own.
class PieceCache {
 public:
  // Appends the ids of `piece` if they are known. `hash` is hash_bytes(piece).
  [[nodiscard]] bool find(
      std::string_view piece, uint64_t hash, std::vector<int32_t>& ids) const {
    const Slot& slot = slots_[hash % kSlots];
    if (slot.count == 0 || slot.size != piece.size() ||
        std::memcmp(slot.text.data(), piece.data(), piece.size()) != 0) {
      return false;
    }
    if (slot.count == 1) {
      ids.push_back(slot.ids[0]);
    } else {
      ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
    }
    return true;
  }

  // Does nothing for a long piece or many ids.
  void insert(std::string_view piece, uint64_t hash, std::span<const int32_t> ids) {
    Slot& slot = slots_[hash % kSlots];
    if (piece.size() > slot.text.size() || ids.empty() || ids.size() > slot.ids.size()) {
      return;
    }
    slot.size = static_cast<uint8_t>(piece.size());
    slot.count = static_cast<uint8_t>(ids.size());
    std::ranges::copy(piece, slot.text.begin());
    std::ranges::copy(ids, slot.ids.begin());
  }

 private:
  static constexpr size_t kSlots = 1 << 15;

  struct alignas(64) Slot {
    std::array<int32_t, 7> ids;
    uint8_t size;
    uint8_t count;  // 0: the slot is free
    std::array<char, 34> text;
  };

  static_assert(sizeof(Slot) == 64);

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlots);
};

}  // namespace titan::text
