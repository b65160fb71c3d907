#pragma once
// Byte-pair encoding (Sennrich, Haddow, Birch 2016, arXiv 1508.07909): starting from
// single characters, the neighbours with the best-ranked merge are joined, leftmost
// first, until no merge applies.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/text/bpe_merges.h"
#include "titan/text/model.h"
#include "titan/text/piece_cache.h"
#include "titan/text/scratch_pool.h"
#include "titan/text/token_table.h"

namespace titan::text {

struct BpeOptions {
  std::optional<int32_t> unk_id;  // for characters without a token; unset: left out
  bool fuse_unk = false;          // neighbouring unknown characters give one unk_id
  bool ignore_merges = false;     // a piece that is a token needs no merges
  bool byte_fallback = false;     // a character without a token gives its bytes "<0x0A>"
  std::string continuing_prefix = "";  // of the tokens of all characters but the first
  std::string end_suffix = "";         // of the token of the last character
};

// Thread-safe. O(n log n) in the length of a piece.
class Bpe : public Model {
 public:
  // Two ids and the id of what they join to; lower ranks are joined first.
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t joined;
    int32_t rank;
  };

  // REQUIRES: with context.byte_pieces neither byte_fallback nor affixes.
  Bpe(Vocabulary vocabulary,
      std::span<const Merge> merges,
      BpeOptions options,
      const ModelContext& context);

  void encode(
      std::string_view text,
      std::span<const Range> pieces,
      std::vector<int32_t>& ids) const override;

  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  static constexpr int32_t kNoId = -1;

  struct Scratch {
    PieceCache cache;
    std::vector<int32_t> symbols;
    BpeMerger merger;
  };

  void enter_characters();
  void enter_fallback_bytes();
  void enter_whole_pieces(const ModelContext& context);
  void find_safe_cut();

  void encode_piece(
      std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
  void merge_piece(
      std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_characters(std::string_view piece, std::vector<int32_t>& symbols) const;
  [[nodiscard]] int32_t character_id(
      std::string_view character, bool first, bool last) const;
  bool append_fallback(std::string_view character, std::vector<int32_t>& symbols) const;
  void note_left_out(std::string_view character) const;

  Vocabulary vocabulary_;
  BpeOptions options_;
  bool byte_pieces_;
  BpeMerges merges_;
  std::array<int32_t, 256> byte_ids_{};      // of single-byte pieces; kNoId: none
  std::array<int32_t, 256> fallback_ids_{};  // of "<0x00>" ..; kNoId: none
  TokenTable characters_;                    // of one character each
  TokenTable whole_pieces_;                  // pieces that give one id
  // The mark "\u2581" where no token holds it behind another character: then no merge
  // reaches across, and long texts can be cut before it.
  bool cut_at_marks_ = false;
  mutable ScratchPool<Scratch> scratch_;
  mutable std::atomic_flag left_out_;
};

// From tokenizer.json. FormatError names the field: dropout is refused, and so is a merge
// whose parts or result are no tokens (with its index).
[[nodiscard]] std::unique_ptr<Model> make_bpe(
    const Json& node, const std::string& where, const ModelContext& context);

// A token of a vocabulary without a list of merges.
struct RankedToken {
  std::string_view text;
  int32_t id;
  int32_t rank;
};

// All ways to make a token from two others, ranked by the rank of the token: what
// tiktoken and SentencePiece do. REQUIRES: texts are different.
[[nodiscard]] std::vector<Bpe::Merge> merges_of_ranked_tokens(
    std::span<const RankedToken> tokens);

}  // namespace titan::text
