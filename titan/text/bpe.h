#pragma once
// Byte-pair encoding (Sennrich, Haddow, Birch 2016, arXiv 1508.07909): starting from
// single characters, the neighbours with the best-ranked merge are joined, leftmost
// first, until no merge applies.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "titan/text/model.h"
#include "titan/text/piece_cache.h"

namespace titan::text {

struct BpeOptions {
  std::optional<int32_t> unk_id;  // for characters without a token; unset: left out
  bool fuse_unk = false;          // neighbouring unknown characters give one unk_id
  bool ignore_merges = false;     // a piece that is a token needs no merges
};

// Thread-safe. O(n log n) in the length of a piece.
class Bpe : public Model {
 public:
  // Two ids and the id of what they join to, best first.
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t joined;
  };

  Bpe(Vocabulary vocabulary,
      std::span<const Merge> merges,
      BpeOptions options,
      std::unordered_set<int32_t> control_ids);

  void encode(std::string_view piece, std::vector<int32_t>& ids) const override;

  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  struct Ranked {
    int32_t rank;
    int32_t joined;
  };
  class Word;

  [[nodiscard]] std::vector<int32_t> characters(std::string_view piece) const;
  [[nodiscard]] const Ranked* find_merge(int32_t left, int32_t right) const;
  void note_left_out(std::string_view character) const;

  Vocabulary vocabulary_;
  std::unordered_map<uint64_t, Ranked> merges_;
  BpeOptions options_;
  std::unordered_set<int32_t> control_ids_;
  mutable PieceCache cache_;
  mutable std::atomic_flag left_out_;
};

// From tokenizer.json. FormatError names the field: byte_fallback, dropout and affixes
// are refused, and so is a merge whose parts or result are no tokens (with its index).
[[nodiscard]] std::unique_ptr<Model> make_bpe(
    const Json& node,
    const std::string& where,
    const std::unordered_set<int32_t>& control_ids);

}  // namespace titan::text
