#pragma once
// From texts to ids, built once and read often.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::text {

// A hash table whose texts lie in one block. Reading is thread-safe.
class TokenTable {
 public:
  // REQUIRES: `text` is new.
  void add(std::string_view text, int32_t id);

  // `hash` is hash_bytes(text).
  [[nodiscard]] std::optional<int32_t> find(std::string_view text, uint64_t hash) const;
  [[nodiscard]] std::optional<int32_t> find(std::string_view text) const;

 private:
  static constexpr int32_t kEmpty = -1;

  struct Slot {
    int32_t id = kEmpty;
    uint32_t tag = 0;     // the upper half of the hash
    uint32_t offset = 0;  // in texts_
    uint32_t size = 0;
  };

  void grow();
  void put(const Slot& slot);

  std::string texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t size_ = 0;
};

}  // namespace titan::text
