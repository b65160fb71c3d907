#include "titan/text/sentencepiece_model.h"

#include "titan/base/error.h"
#include "titan/text/protobuf_reader.h"

namespace titan::text {
namespace {

using Model = SentencePieceModel;

Model::Piece read_piece(ProtobufReader message) {
  Model::Piece piece;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        piece.text = message.bytes();
        break;
      case 2:
        piece.score = message.fixed32();
        break;
      case 3:
        piece.type = static_cast<Model::PieceType>(message.number());
        break;
      default:
        break;
    }
  }
  return piece;
}

// Negative numbers are sign-extended to 64 bits.
int32_t read_id(const ProtobufReader& message) {
  return static_cast<int32_t>(message.number());
}

void read_trainer_spec(ProtobufReader message, Model& model) {
  while (message.next()) {
    switch (message.field()) {
      case 3:
        model.kind = static_cast<Model::Kind>(message.number());
        break;
      case 24:
        model.treat_whitespace_as_suffix = message.number() != 0;
        break;
      case 35:
        model.byte_fallback = message.number() != 0;
        break;
      case 41:
        model.bos_id = read_id(message);
        break;
      case 42:
        model.eos_id = read_id(message);
        break;
      case 43:
        model.pad_id = read_id(message);
        break;
      default:
        break;
    }
  }
}

void read_normalizer_spec(ProtobufReader message, Model& model) {
  while (message.next()) {
    switch (message.field()) {
      case 2:
        model.character_map = message.bytes();
        break;
      case 3:
        model.add_dummy_prefix = message.number() != 0;
        break;
      case 4:
        model.remove_extra_whitespaces = message.number() != 0;
        break;
      case 5:
        model.escape_whitespaces = message.number() != 0;
        break;
      default:
        break;
    }
  }
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(
    std::string_view bytes, const std::string& name) {
  SentencePieceModel model;
  ProtobufReader reader(bytes, name);
  while (reader.next()) {
    switch (reader.field()) {
      case 1:
        model.pieces.push_back(read_piece(reader.message()));
        break;
      case 2:
        read_trainer_spec(reader.message(), model);
        break;
      case 3:
        read_normalizer_spec(reader.message(), model);
        break;
      default:
        break;
    }
  }
  if (model.pieces.empty()) {
    fail<FormatError>("{}: not a SentencePiece model: it has no pieces", name);
  }
  return model;
}

}  // namespace titan::text
