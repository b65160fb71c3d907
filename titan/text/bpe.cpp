#include "titan/text/bpe.h"

#include <algorithm>
#include <queue>

#include "titan/base/log.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Longer pieces seldom come twice.
constexpr size_t kCachedPieceBytes = 64;

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

}  // namespace

// The symbols of one piece as a linked list, and the merges that apply, best first. A
// candidate is stale once one of its two symbols has changed.
class Bpe::Word {
 public:
  Word(const Bpe& model, std::span<const int32_t> characters) : model_(model) {
    const size_t size = characters.size();
    symbols_.reserve(size);
    for (size_t i = 0; i < size; ++i) {
      symbols_.push_back({characters[i], i - 1, i + 1 < size ? i + 1 : kNone});
    }
    for (size_t i = 0; i + 1 < size; ++i) {
      consider(i);
    }
  }

  std::vector<int32_t> merge_all() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      if (applies(best)) {
        join(best);
      }
    }
    std::vector<int32_t> ids;
    for (size_t i = symbols_.empty() ? kNone : 0; i != kNone; i = symbols_[i].next) {
      ids.push_back(symbols_[i].id);
    }
    return ids;
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  static constexpr int32_t kGone = -1;

  struct Symbol {
    int32_t id;
    size_t previous;
    size_t next;
  };

  struct Candidate {
    int32_t rank;
    size_t position;
    int32_t left;
    int32_t right;
    int32_t joined;

    // The queue's top is its greatest: lowest rank, then leftmost.
    bool operator<(const Candidate& other) const {
      return std::pair(rank, position) > std::pair(other.rank, other.position);
    }
  };

  void consider(size_t position) {
    const Symbol& symbol = symbols_[position];
    const int32_t right = symbols_[symbol.next].id;
    if (const Ranked* merge = model_.find_merge(symbol.id, right)) {
      candidates_.push({merge->rank, position, symbol.id, right, merge->joined});
    }
  }

  [[nodiscard]] bool applies(const Candidate& candidate) const {
    const Symbol& symbol = symbols_[candidate.position];
    return symbol.id == candidate.left && symbol.next != kNone &&
           symbols_[symbol.next].id == candidate.right;
  }

  void join(const Candidate& candidate) {
    Symbol& symbol = symbols_[candidate.position];
    Symbol& right = symbols_[symbol.next];
    symbol.id = candidate.joined;
    right.id = kGone;
    symbol.next = right.next;
    if (symbol.next != kNone) {
      symbols_[symbol.next].previous = candidate.position;
      consider(candidate.position);
    }
    if (symbol.previous != kNone) {
      consider(symbol.previous);
    }
  }

  const Bpe& model_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> candidates_;
};

Bpe::Bpe(
    Vocabulary vocabulary,
    std::span<const Merge> merges,
    BpeOptions options,
    std::unordered_set<int32_t> control_ids)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      control_ids_(std::move(control_ids)) {
  merges_.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    merges_[pair_key(merges[i].left, merges[i].right)] = {
        static_cast<int32_t>(i), merges[i].joined};
  }
}

const Bpe::Ranked* Bpe::find_merge(int32_t left, int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::note_left_out(std::string_view character) const {
  if (!left_out_.test_and_set()) {
    log::warning(
        "the tokenizer has no token for the character \"{}\" and no unknown token; such "
        "characters are left out",
        character);
  }
}

std::vector<int32_t> Bpe::characters(std::string_view piece) const {
  std::vector<int32_t> ids;
  ids.reserve(piece.size());
  bool after_unknown = false;
  while (!piece.empty()) {
    const std::string_view character = piece.substr(0, next_utf8(piece).size);
    piece.remove_prefix(character.size());
    const auto found = vocabulary_.find(character);
    if (found != vocabulary_.end()) {
      ids.push_back(found->second);
    } else if (!options_.unk_id) {
      note_left_out(character);
    } else if (!(options_.fuse_unk && after_unknown)) {
      ids.push_back(*options_.unk_id);
    }
    after_unknown = found == vocabulary_.end();
  }
  return ids;
}

void Bpe::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (options_.ignore_merges) {
    const auto found = vocabulary_.find(piece);
    if (found != vocabulary_.end() && !control_ids_.contains(found->second)) {
      ids.push_back(found->second);
      return;
    }
  }
  const bool cached = piece.size() <= kCachedPieceBytes;
  if (cached && cache_.find(piece, ids)) {
    return;
  }
  std::vector<int32_t> result = Word(*this, characters(piece)).merge_all();
  ids.insert(ids.end(), result.begin(), result.end());
  if (cached) {
    cache_.insert(piece, std::move(result));
  }
}

}  // namespace titan::text
