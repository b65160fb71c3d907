#include "titan/text/sentencepiece.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/bpe.h"
#include "titan/text/character_map.h"
#include "titan/text/ranked_tokenizer.h"
#include "titan/text/sentencepiece_model.h"
#include "titan/text/unigram.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

using PieceType = SentencePieceModel::PieceType;

constexpr std::string_view kMark = "\u2581";

// The normalizer that a model describes, in the order in which SentencePiece works.
class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(
      std::optional<CharacterMap> map, bool add_prefix, bool trim, bool mark_spaces)
      : map_(std::move(map)),
        add_prefix_(add_prefix),
        trim_(trim),
        space_(mark_spaces ? kMark : " ") {}

  std::string normalize(std::string text) const override {
    std::string_view rest = text;
    while (trim_ && take(rest, false) == " ") {
      take(rest, true);
    }
    std::string result;
    if (rest.empty()) {
      return result;
    }
    if (add_prefix_) {
      result += space_;
    }
    bool after_space = trim_;
    while (!rest.empty()) {
      std::string_view part = take(rest, true);
      while (after_space && part.starts_with(' ')) {
        part.remove_prefix(1);
      }
      for (const char c : part) {
        if (c == ' ') {
          result += space_;
        } else {
          result += c;
        }
      }
      if (!part.empty()) {
        after_space = trim_ && part.ends_with(' ');
      }
    }
    while (trim_ && std::string_view(result).ends_with(space_)) {
      result.resize(result.size() - space_.size());
    }
    return result;
  }

 private:
  // What the text begins with, replaced by the map; `advance` takes it off. Empty at the
  // end of the text.
  std::string_view take(std::string_view& rest, bool advance) const {
    if (rest.empty()) {
      return {};
    }
    size_t size = utf8_size(static_cast<unsigned char>(rest[0]));
    std::string_view part = rest.substr(0, size);
    if (const auto match = map_ ? map_->longest(rest) : std::nullopt) {
      size = match->size;
      part = match->replacement;
    }
    if (advance) {
      rest.remove_prefix(size);
    }
    return part;
  }

  std::optional<CharacterMap> map_;
  bool add_prefix_;
  bool trim_;
  std::string_view space_;
};

void check(const SentencePieceModel& model, const std::string& name) {
  if (model.kind != SentencePieceModel::Kind::kBpe &&
      model.kind != SentencePieceModel::Kind::kUnigram) {
    fail<FormatError>(
        "{}: trainer_spec.model_type {} is not supported (known: 1 unigram, 2 bpe)",
        name,
        static_cast<int>(model.kind));
  }
  if (model.treat_whitespace_as_suffix) {
    fail<FormatError>(
        "{}: trainer_spec.treat_whitespace_as_suffix is not supported", name);
  }
  Vocabulary seen;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.type < PieceType::kNormal || piece.type > PieceType::kByte ||
        piece.type == PieceType::kUnused) {
      fail<FormatError>(
          "{}: piece {}: type {} is not supported",
          name,
          id,
          static_cast<int>(piece.type));
    }
    if (piece.text.empty() || find_invalid_utf8(piece.text) ||
        !seen.emplace(piece.text, static_cast<int32_t>(id)).second) {
      fail<FormatError>(
          "{}: piece {}: \"{}\" is empty, not UTF-8 or occurs twice",
          name,
          id,
          find_invalid_utf8(piece.text) ? "" : piece.text);
    }
  }
}

std::optional<int32_t> find_unknown(const SentencePieceModel& model) {
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::kUnknown) {
      return static_cast<int32_t>(id);
    }
  }
  return std::nullopt;
}

// Pieces are joined by the score of the result; equal scores have equal ranks.
std::unique_ptr<Model> make_bpe_model(const SentencePieceModel& model) {
  std::vector<float> scores;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    scores.push_back(piece.score);
  }
  std::ranges::sort(scores, std::greater());
  Vocabulary vocabulary;
  std::vector<RankedToken> ranked;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePieceModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    vocabulary.emplace(piece.text, id);
    if (piece.type == PieceType::kNormal) {
      const auto rank = std::ranges::lower_bound(scores, piece.score, std::greater());
      ranked.push_back({piece.text, id, static_cast<int32_t>(rank - scores.begin())});
    }
  }
  return std::make_unique<Bpe>(
      std::move(vocabulary),
      merges_of_ranked_tokens(ranked),
      BpeOptions{
          .unk_id = find_unknown(model),
          .fuse_unk = true,
          .byte_fallback = model.byte_fallback},
      ModelContext());
}

std::unique_ptr<Model> make_unigram_model(const SentencePieceModel& model) {
  std::vector<UnigramToken> tokens;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    tokens.push_back(
        {.text = piece.text,
         .score = piece.score,
         .searched = piece.type == PieceType::kNormal});
  }
  return std::make_unique<Unigram>(
      std::move(tokens),
      UnigramOptions{
          .unk_id = find_unknown(model), .byte_fallback = model.byte_fallback});
}

// SentencePiece takes the space that encoding puts in front off again; where it takes
// extra ones off when encoding, all.
Decoder make_sentencepiece_decoder(const SentencePieceModel& model) {
  Json parts = Json::array(
      {{{"type", "Replace"}, {"pattern", {{"String", kMark}}}, {"content", " "}},
       {{"type", "ByteFallback"}},
       {{"type", "Fuse"}}});
  if (model.add_dummy_prefix) {
    const int64_t start =
        model.remove_extra_whitespaces ? std::numeric_limits<int64_t>::max() : 1;
    parts.push_back({{"type", "Strip"}, {"content", " "}, {"start", start}, {"stop", 0}});
  }
  return make_decoder({{"type", "Sequence"}, {"decoders", parts}}, "decoder");
}

std::vector<AddedToken> read_added(const SentencePieceModel& model) {
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePieceModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    if (piece.type == PieceType::kControl || piece.type == PieceType::kUnknown) {
      tokens.push_back(special_token(id, piece.text));
    } else if (piece.type == PieceType::kUserDefined) {
      tokens.push_back(
          {.id = id, .content = piece.text, .normalized = true, .spelling = piece.text});
    }
  }
  return tokens;
}

}  // namespace

TokenizerState read_sentencepiece(
    std::string_view bytes,
    const std::string& name,
    const std::vector<AddedToken>& added) {
  const SentencePieceModel model = parse_sentencepiece_model(bytes, name);
  check(model, name);
  TokenizerState state{.name = name, .decoder = make_sentencepiece_decoder(model)};
  std::optional<CharacterMap> map;
  if (!model.character_map.empty()) {
    map.emplace(model.character_map, name + ": normalizer_spec.precompiled_charsmap");
  }
  state.normalizer = std::make_unique<SentencePieceNormalizer>(
      std::move(map),
      model.add_dummy_prefix,
      model.remove_extra_whitespaces,
      model.escape_whitespaces);
  state.model = model.kind == SentencePieceModel::Kind::kBpe ? make_bpe_model(model)
                                                             : make_unigram_model(model);
  enter_tokens(state, join_added_tokens(added, read_added(model)));
  const auto known = [&](int32_t id) {
    return state.find(id) != nullptr ? std::optional(id) : std::nullopt;
  };
  state.bos_id = known(model.bos_id);
  state.pad_id = known(model.pad_id);
  if (const std::optional<int32_t> eos = known(model.eos_id)) {
    state.eos_ids.push_back(*eos);
  }
  if (state.bos_id) {
    state.post_processor = make_surrounding_post_processor({*state.bos_id}, {});
  }
  return state;
}

}  // namespace titan::text
