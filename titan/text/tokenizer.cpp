#include "titan/text/tokenizer.h"

#include <utility>

#include "titan/base/error.h"
#include "titan/text/tokenizer_state.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Encodes text without added tokens.
void encode_text(
    const TokenizerState& state, std::string text, std::vector<int32_t>& ids) {
  Pieces pieces{std::move(text), {}};
  if (!pieces.text.empty()) {
    pieces.ranges.push_back({0, pieces.text.size()});
  }
  if (state.pre_tokenizer) {
    state.pre_tokenizer->split(pieces);
  }
  for (const Range& range : pieces.ranges) {
    state.model->encode(pieces.piece(range), ids);
  }
}

// Added tokens are cut out twice: as written, then from the normalized rest.
void encode_with_added_tokens(
    const TokenizerState& state, std::string_view text, std::vector<int32_t>& ids) {
  for (const Stretch& stretch : state.exact_tokens.cut(text)) {
    if (stretch.token) {
      ids.push_back(*stretch.token);
      continue;
    }
    const std::string normalized = state.normalize(std::string(stretch.text));
    for (const Stretch& inner : state.normalized_tokens.cut(normalized)) {
      if (inner.token) {
        ids.push_back(*inner.token);
      } else {
        encode_text(state, std::string(inner.text), ids);
      }
    }
  }
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerState> state)
    : state_(std::move(state)) {}

Tokenizer Tokenizer::from_file(const std::filesystem::path& path) {
  return from_json(read_json_file(path), path.string());
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? from_folder(path) : from_file(path);
}

Tokenizer Tokenizer::from_json(const Json& json, const std::string& name) {
  return Tokenizer(
      std::make_shared<const TokenizerState>(make_tokenizer_state(json, name, {})));
}

std::vector<int32_t> Tokenizer::encode(
    std::string_view text, const EncodeOptions& options) const {
  if (const std::optional<size_t> offset = find_invalid_utf8(text)) {
    fail<InputError>(
        "the text to encode is not UTF-8: byte {} of {}", *offset, text.size());
  }
  std::vector<int32_t> ids;
  if (options.parse_special) {
    encode_with_added_tokens(*state_, text, ids);
  } else {
    encode_text(*state_, state_->normalize(std::string(text)), ids);
  }
  if (options.add_special_tokens && state_->post_processor) {
    ids = state_->post_processor->process(std::move(ids));
  }
  return ids;
}

std::string Tokenizer::decode(
    std::span<const int32_t> ids, const DecodeOptions& options) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!(options.skip_special_tokens && is_special(id))) {
      bytes += piece(id);
    }
  }
  std::string text;
  if (append_utf8_lossy(text, bytes) < bytes.size()) {
    text += kReplacementCharacter;
  }
  return text;
}

const std::string& Tokenizer::piece(int32_t id) const {
  return state_->at(id).bytes;
}

int64_t Tokenizer::vocab_size() const {
  return static_cast<int64_t>(state_->tokens.size());
}

std::optional<int32_t> Tokenizer::token_id(std::string_view token) const {
  const auto found = state_->ids.find(token);
  return found == state_->ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string& Tokenizer::token(int32_t id) const {
  return state_->at(id).spelling;
}

bool Tokenizer::is_special(int32_t id) const {
  return state_->at(id).special;
}

std::optional<int32_t> Tokenizer::bos_id() const {
  return state_->bos_id;
}

std::optional<int32_t> Tokenizer::pad_id() const {
  return state_->pad_id;
}

const std::vector<int32_t>& Tokenizer::eos_ids() const {
  return state_->eos_ids;
}

const std::string& Tokenizer::chat_template() const {
  return state_->chat_template;
}

const std::string& Tokenizer::name() const {
  return state_->name;
}

void Tokenizer::check_fits(int64_t model_vocab_size) const {
  if (vocab_size() > model_vocab_size) {
    const auto id = static_cast<int32_t>(vocab_size() - 1);
    fail<InputError>(
        "{}: token \"{}\" has id {}, but the model's vocabulary has {} entries",
        name(),
        token(id),
        id,
        model_vocab_size);
  }
}

}  // namespace titan::text
