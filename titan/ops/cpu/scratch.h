#pragma once

#include <cstddef>

namespace titan::ops::cpu {

// Memory of the calling thread that grows and is never given back, aligned to 4096 bytes.
// Each slot is one buffer: a second call with the same slot on the same thread ends the
// first one's use. Contents are undefined. Slots are listed where they are used; 0 <=
// slot < kScratchSlots.
inline constexpr int kScratchSlots = 16;
void* scratch(int slot, size_t bytes);

template <class T>
T* scratch_of(int slot, size_t count) {
  return static_cast<T*>(scratch(slot, count * sizeof(T)));
}

}  // namespace titan::ops::cpu
