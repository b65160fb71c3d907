#pragma once
// Memory of one rendering, or of one compiled template: objects are made one by one and
// all go at once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace titan::text::jinja {

// Thrown inside the engine where a limit is reached; Template::render() makes an
// InputError with the place of it.
struct LimitReached {
  const char* what;
};

// Not thread-safe. What it hands out lives until the arena is destroyed.
class Arena {
 public:
  explicit Arena(size_t limit = SIZE_MAX) : limit_(limit) {}

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised. LimitReached where the arena would grow beyond its limit.
  [[nodiscard]] void* allocate(size_t size, size_t alignment) {
    const size_t padding = -reinterpret_cast<uintptr_t>(next_) & (alignment - 1);
    if (padding + size > left_) {
      return allocate_chunk(size);
    }
    std::byte* result = next_ + padding;
    next_ = result + size;
    left_ -= padding + size;
    return result;
  }

  template <class T, class... Args>
  [[nodiscard]] T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  // `size` values of T{}.
  template <class T>
  [[nodiscard]] std::span<T> make_array(size_t size) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (size > limit_ / sizeof(T)) {
      throw LimitReached{kWhat};
    }
    T* const first = static_cast<T*>(allocate(size * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(first, size);
    return {first, size};
  }

  template <class T>
  [[nodiscard]] std::span<const T> copy(std::span<const T> source) {
    const std::span<T> target = make_array<T>(source.size());
    std::copy(source.begin(), source.end(), target.begin());
    return target;
  }

  [[nodiscard]] std::string_view copy(std::string_view text) {
    if (text.empty()) {
      return {};
    }
    void* const target = allocate(text.size(), 1);
    std::memcpy(target, text.data(), text.size());
    return {static_cast<const char*>(target), text.size()};
  }

 private:
  static constexpr const char* kWhat = "memory";
  static constexpr size_t kFirstChunk = size_t{1} << 14;
  static constexpr size_t kLargestChunk = size_t{1} << 20;

  // An object of its own chunk's size or less; new memory is aligned for every type.
  void* allocate_chunk(size_t size) {
    if (size > limit_ - used_) {
      throw LimitReached{kWhat};
    }
    const size_t chunk = std::max(size, next_chunk_);
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk));
    used_ += std::min(chunk, limit_ - used_);
    next_chunk_ = std::min(2 * next_chunk_, kLargestChunk);
    next_ = chunks_.back().get() + size;
    left_ = chunk - size;
    return chunks_.back().get();
  }

  size_t limit_;
  size_t used_ = 0;
  size_t next_chunk_ = kFirstChunk;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

}  // namespace titan::text::jinja
