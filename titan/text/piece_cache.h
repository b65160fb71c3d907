#pragma once
// Remembers how pieces were encoded: most words of a text occur many times.

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "titan/text/model.h"

namespace titan::text {

// A bounded map from short pieces to ids; once full it only answers. Thread-safe.
class PieceCache {
 public:
  // Appends the ids of `piece` if they are known.
  [[nodiscard]] bool find(std::string_view piece, std::vector<int32_t>& ids) const;
  void insert(std::string_view piece, std::vector<int32_t> ids);

 private:
  // Shards keep threads out of each other's way.
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, std::vector<int32_t>, TextHash, std::equal_to<>>
        known;
  };

  static constexpr size_t kShards = 16;
  static constexpr size_t kShardLimit = 4096;

  [[nodiscard]] static size_t shard_of(std::string_view piece) {
    return TextHash()(piece) / 256 % kShards;
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace titan::text
