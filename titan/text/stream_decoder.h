#pragma once
// Decoding while tokens arrive, for streamed output.

#include <cstdint>
#include <string>

#include "titan/text/tokenizer.h"

namespace titan::text {

// Gives text as soon as it is certain: a character split over tokens is held back until
// it is whole (at most three bytes), everything else comes at once. All deltas joined
// equal Tokenizer::decode of all ids. Not thread-safe.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options = {});

  // The text that this token completes; often empty within a character.
  [[nodiscard]] std::string push(int32_t id);
  // The rest at the end of the stream: empty, or U+FFFD for an unfinished character.
  [[nodiscard]] std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::string held_;
};

}  // namespace titan::text
