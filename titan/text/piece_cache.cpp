#include "titan/text/piece_cache.h"

#include <utility>

namespace titan::text {

bool PieceCache::find(std::string_view piece, std::vector<int32_t>& ids) const {
  const Shard& shard = shards_[shard_of(piece)];
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.known.find(piece);
  if (found == shard.known.end()) {
    return false;
  }
  ids.insert(ids.end(), found->second.begin(), found->second.end());
  return true;
}

void PieceCache::insert(std::string_view piece, std::vector<int32_t> ids) {
  Shard& shard = shards_[shard_of(piece)];
  const std::lock_guard lock(shard.mutex);
  if (shard.known.size() < kShardLimit) {
    shard.known.emplace(piece, std::move(ids));
  }
}

}  // namespace titan::text
