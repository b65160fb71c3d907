#include "titan/ops/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <new>

namespace titan::ops::cpu {
namespace {

struct Buffer {
  void* data = nullptr;
  size_t size = 0;

  ~Buffer() { std::free(data); }
};

}  // namespace

void* scratch(int slot, size_t bytes) {
  static thread_local std::array<Buffer, kScratchSlots> buffers;
  Buffer& buffer = buffers.at(static_cast<size_t>(slot));
  if (buffer.size < bytes) {
    constexpr size_t kPage = 4096;
    const size_t size = (bytes + kPage - 1) / kPage * kPage;
    std::free(buffer.data);
    buffer.size = 0;
    buffer.data = std::aligned_alloc(kPage, size);
    if (buffer.data == nullptr) {
      throw std::bad_alloc();
    }
    buffer.size = size;
  }
  return buffer.data;
}

}  // namespace titan::ops::cpu
