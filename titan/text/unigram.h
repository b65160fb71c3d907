#pragma once
// Unigram language model tokens (Kudo 2018, arXiv 1804.10959): of all ways to cut a piece
// into tokens, the one with the greatest sum of scores (Viterbi).

#include <optional>
#include <string>
#include <vector>

#include "titan/text/byte_trie.h"
#include "titan/text/model.h"
#include "titan/text/piece_cache.h"
#include "titan/text/scratch_pool.h"

namespace titan::text {

struct UnigramToken {
  std::string text;
  double score = 0;
  // Kept out of the search, but still the token of an unknown stretch of the same text.
  bool searched = true;
};

struct UnigramOptions {
  std::optional<int32_t> unk_id;
  bool byte_fallback =
      false;  // an unknown stretch gives the tokens "<0x0A>" of its bytes
};

// Thread-safe. Linear in the length of a piece (times the longest token).
class Unigram : public Model {
 public:
  // `tokens` by id. REQUIRES: different texts.
  Unigram(std::vector<UnigramToken> tokens, const UnigramOptions& options);

  // InputError: a character that no token covers, where there is no unknown token.
  void encode(
      std::string_view text,
      std::span<const Range> pieces,
      std::vector<int32_t>& ids) const override;

  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  // The best way to cover the text up to some byte ends with this token.
  struct Step {
    double score;
    int32_t id;     // kUnknown: one character that no token covers
    uint32_t size;  // 0: no way leads here
  };

  struct Scratch {
    PieceCache cache;
    std::vector<Step> steps;
    std::vector<Range> path;
  };

  void search(std::string_view piece, std::vector<Step>& steps) const;
  void encode_piece(
      std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
  void append_stretch(std::string_view stretch, std::vector<int32_t>& ids) const;

  static constexpr int32_t kUnknown = -1;

  Vocabulary vocabulary_;
  std::vector<double> scores_;  // by id
  ByteTrie trie_;
  UnigramOptions options_;
  double unknown_score_;
  mutable ScratchPool<Scratch> scratch_;
};

// From tokenizer.json. FormatError names the field.
[[nodiscard]] std::unique_ptr<Model> make_unigram(
    const Json& node, const std::string& where, const ModelContext& context);

}  // namespace titan::text
