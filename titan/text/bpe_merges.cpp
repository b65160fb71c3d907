#include "titan/text/bpe_merges.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "titan/base/error.h"

namespace titan::text {
namespace {

// Up to here a scan for the best merge is faster than a heap.
constexpr size_t kShort = 48;

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr int32_t kGone = -1;
constexpr RankedMerge kNoMerge{std::numeric_limits<int32_t>::max(), kGone};

// For heaps, whose top is the greatest: lowest rank, then leftmost.
constexpr auto kWorse = [](const auto& a, const auto& b) {
  return std::tie(a.rank, a.position) > std::tie(b.rank, b.position);
};

}  // namespace

void BpeMerger::apply(
    const BpeMerges& merges, std::vector<int32_t>& symbols, std::vector<int32_t>& ids) {
  if (symbols.size() <= kShort) {
    apply_short(merges, symbols, ids);
  } else {
    apply_long(merges, symbols, ids);
  }
}

void BpeMerger::apply_short(
    const BpeMerges& merges, std::vector<int32_t>& symbols, std::vector<int32_t>& ids) {
  const auto pair_at = [&](size_t i) {
    const RankedMerge* merge = merges.find(symbols[i], symbols[i + 1]);
    return merge == nullptr ? kNoMerge : *merge;
  };
  pairs_.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    pairs_.push_back(pair_at(i));
  }
  while (!pairs_.empty()) {
    const auto best = std::ranges::min_element(pairs_, {}, &RankedMerge::rank);
    if (best->rank == kNoMerge.rank) {
      break;
    }
    const auto at = static_cast<size_t>(best - pairs_.begin());
    symbols[at] = best->joined;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    pairs_.erase(best);
    if (at < pairs_.size()) {
      pairs_[at] = pair_at(at);
    }
    if (at > 0) {
      pairs_[at - 1] = pair_at(at - 1);
    }
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

// A candidate is stale once one of its two symbols has changed.
void BpeMerger::apply_long(
    const BpeMerges& merges,
    std::span<const int32_t> symbols,
    std::vector<int32_t>& ids) {
  if (symbols.size() >= kNone) {
    fail<InputError>("a piece of {} characters is too long to encode", symbols.size());
  }
  const auto size = static_cast<uint32_t>(symbols.size());
  symbols_.clear();
  candidates_.clear();
  for (uint32_t i = 0; i < size; ++i) {
    symbols_.push_back(
        {symbols[i], i == 0 ? kNone : i - 1, i + 1 < size ? i + 1 : kNone});
  }
  for (uint32_t i = 0; i + 1 < size; ++i) {
    consider(merges, i);
  }
  while (!candidates_.empty()) {
    std::ranges::pop_heap(candidates_, kWorse);
    const Candidate best = candidates_.back();
    candidates_.pop_back();
    if (applies(best)) {
      join(merges, best);
    }
  }
  for (uint32_t i = 0; i != kNone; i = symbols_[i].next) {
    ids.push_back(symbols_[i].id);
  }
}

void BpeMerger::consider(const BpeMerges& merges, uint32_t position) {
  const Symbol& symbol = symbols_[position];
  const int32_t right = symbols_[symbol.next].id;
  if (const RankedMerge* merge = merges.find(symbol.id, right)) {
    candidates_.push_back({merge->rank, position, symbol.id, right, merge->joined});
    std::ranges::push_heap(candidates_, kWorse);
  }
}

bool BpeMerger::applies(const Candidate& candidate) const {
  const Symbol& symbol = symbols_[candidate.position];
  return symbol.id == candidate.left && symbol.next != kNone &&
         symbols_[symbol.next].id == candidate.right;
}

void BpeMerger::join(const BpeMerges& merges, const Candidate& candidate) {
  Symbol& symbol = symbols_[candidate.position];
  Symbol& right = symbols_[symbol.next];
  symbol.id = candidate.joined;
  right.id = kGone;
  symbol.next = right.next;
  if (symbol.next != kNone) {
    symbols_[symbol.next].previous = candidate.position;
    consider(merges, candidate.position);
  }
  if (symbol.previous != kNone) {
    consider(merges, symbol.previous);
  }
}

}  // namespace titan::text
