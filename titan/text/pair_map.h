#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "titan/text/text_hash.h"

namespace titan::text {

// A hash map from pairs of ids to small values: open addressing, grown before it is half
// full. Reading is thread-safe.
template <class Value>
class PairMap {
 public:
  // The value of a pair, made first where it is new. Invalidates pointers.
  // REQUIRES: the pair is not (-1, -1).
  Value& get_or_add(int32_t left, int32_t right) {
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
    }
    Slot& slot = slots_[find_slot(key_of(left, right))];
    if (slot.key == kEmpty) {
      slot.key = key_of(left, right);
      ++size_;
    }
    return slot.value;
  }

  // Null where the pair is unknown.
  [[nodiscard]] const Value* find(int32_t left, int32_t right) const {
    if (slots_.empty()) {
      return nullptr;
    }
    const Slot& slot = slots_[find_slot(key_of(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.value;
  }

 private:
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();

  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
           static_cast<uint32_t>(right);
  }

  // The slot that holds `key`, or the one that it would go to.
  [[nodiscard]] size_t find_slot(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = mix_bits(key, 0x9E3779B97F4A7C15) & mask;
    while (slots_[slot].key != key && slots_[slot].key != kEmpty) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) {
        slots_[find_slot(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace titan::text
