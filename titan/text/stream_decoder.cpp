#include "titan/text/stream_decoder.h"

#include <utility>

#include "titan/text/utf8.h"

namespace titan::text {

StreamDecoder::StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

std::string StreamDecoder::push(int32_t id) {
  if (options_.skip_special_tokens && tokenizer_.is_special(id)) {
    return "";
  }
  held_ += tokenizer_.piece(id);
  std::string text;
  held_.erase(0, append_utf8_lossy(text, held_));
  return text;
}

std::string StreamDecoder::finish() {
  const bool unfinished = !held_.empty();
  held_.clear();
  return std::string(unfinished ? kReplacementCharacter : "");
}

}  // namespace titan::text
