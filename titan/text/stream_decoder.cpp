#include "titan/text/stream_decoder.h"

#include <utility>

#include "titan/text/tokenizer_state.h"
#include "titan/text/utf8.h"

namespace titan::text {

StreamDecoder::StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {
  if (const auto& strip = tokenizer_.state_->decoder.strip()) {
    left_to_strip_ = strip->start;
  }
}

std::string StreamDecoder::push(int32_t id) {
  const TokenizerState& state = *tokenizer_.state_;
  const TokenizerState::Token& token = state.at(id);
  if (options_.skip_special_tokens && token.special) {
    return "";
  }
  held_ +=
      first_ && !token.added ? state.decoder.decode(token.spelling, true) : token.bytes;
  first_ = false;
  std::string text;
  held_.erase(0, append_utf8_lossy(text, held_));
  return strip(std::move(text));
}

std::string StreamDecoder::finish() {
  const bool unfinished = !held_.empty();
  held_.clear();
  std::string text = strip(std::string(unfinished ? kReplacementCharacter : ""));
  stripped_if_end_.clear();
  return text;
}

std::string StreamDecoder::strip(std::string text) {
  const auto& strip = tokenizer_.state_->decoder.strip();
  if (!strip) {
    return text;
  }
  const size_t size = strip->character.size();
  while (left_to_strip_ > 0 && !text.empty()) {
    if (text.starts_with(strip->character)) {
      text.erase(0, size);
      --left_to_strip_;
    } else {
      left_to_strip_ = 0;
    }
  }
  text.insert(0, stripped_if_end_);
  size_t end = text.size();
  for (size_t i = 0; i < strip->stop; ++i) {
    if (!std::string_view(text).substr(0, end).ends_with(strip->character)) {
      break;
    }
    end -= size;
  }
  stripped_if_end_ = text.substr(end);
  text.resize(end);
  return text;
}

}  // namespace titan::text
