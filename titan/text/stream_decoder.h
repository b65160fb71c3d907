#pragma once
// Decoding while tokens arrive, for streamed output.

#include <cstddef>
#include <cstdint>
#include <string>

#include "titan/text/tokenizer.h"

namespace titan::text {

// Gives text as soon as it is certain: a character split over tokens is held back until
// it is whole (at most three bytes), and so is what the tokenizer's decoder would strip
// off the end; everything else comes at once. All deltas joined equal Tokenizer::decode
// of all ids. Not thread-safe.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options = {});

  // The text that this token completes; often empty within a character.
  [[nodiscard]] std::string push(int32_t id);
  // The rest at the end of the stream: empty, or U+FFFD for an unfinished character.
  [[nodiscard]] std::string finish();

 private:
  // Takes the decoder's strip off `text`.
  [[nodiscard]] std::string strip(std::string text);

  Tokenizer tokenizer_;
  DecodeOptions options_;
  bool first_ = true;            // no token was shown yet
  std::string held_;             // bytes of an unfinished character
  size_t left_to_strip_ = 0;     // at the start of the text
  std::string stripped_if_end_;  // the end of the text so far
};

}  // namespace titan::text
