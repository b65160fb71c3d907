#pragma once
// SentencePiece's .model files: one protobuf message (sentencepiece_model.proto), of
// which titan reads what encoding needs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace titan::text {

struct SentencePieceModel {
  enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6
  };

  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  enum class Kind : uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

  std::vector<Piece> pieces;  // by id
  // trainer_spec; the defaults are those of the format.
  Kind kind = Kind::kUnigram;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  int32_t bos_id = 1;  // negative: none
  int32_t eos_id = 2;
  int32_t pad_id = -1;
  // normalizer_spec
  std::string character_map = "";  // precompiled_charsmap; empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// FormatError: names `name` and the offset where the message is broken.
[[nodiscard]] SentencePieceModel parse_sentencepiece_model(
    std::string_view bytes, const std::string& name);

}  // namespace titan::text
