#include "titan/text/stream_decoder.h"

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/text/byte_tokenizer_fixture.h"

namespace titan::text {
namespace {

Tokenizer byte_tokenizer() {
  return Tokenizer::from_json(
      byte_tokenizer_json(
          {}, {{"added_tokens", Json::array({added_token_json(256, "<|im_end|>")})}}),
      "bytes");
}

std::vector<std::string> deltas_of(std::string_view bytes) {
  StreamDecoder decoder(byte_tokenizer());
  std::vector<std::string> deltas;
  for (const char byte : bytes) {
    deltas.push_back(decoder.push(static_cast<unsigned char>(byte)));
  }
  deltas.push_back(decoder.finish());
  return deltas;
}

using Deltas = std::vector<std::string>;

TEST(StreamDecoder, HoldsBackOnlyUnfinishedCharacters) {
  EXPECT_EQ(
      deltas_of("h\u00E9\U0001F600\u00FF"),
      (Deltas{"h", "", "\u00E9", "", "", "", "\U0001F600", "", "\u00FF", ""}));
}

TEST(StreamDecoder, ReplacesWhatCanBecomeNoCharacter) {
  EXPECT_EQ(
      deltas_of("\xF0\x41\x42"),
      (Deltas{
          "",
          "\uFFFD"
          "A",
          "B",
          ""}));
  EXPECT_EQ(deltas_of("\xF0\x9F"), (Deltas{"", "", "\uFFFD"}));
  EXPECT_EQ(deltas_of("\x80 "), (Deltas{"\uFFFD", " ", ""}));
}

TEST(StreamDecoder, JoinedDeltasEqualDecode) {
  const Tokenizer tokenizer = byte_tokenizer();
  Rng rng(7, "stream");
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> ids;
    std::string joined;
    StreamDecoder decoder(tokenizer);
    for (int i = 0; i < 40; ++i) {
      // Mostly bytes of multi-byte characters, so that ill-formed runs of all kinds
      // occur.
      const auto byte = static_cast<int32_t>(
          rng.next_below(4) == 0 ? rng.next_below(257) : 0x80 + rng.next_below(128));
      ids.push_back(byte);
      joined += decoder.push(byte);
    }
    joined += decoder.finish();
    ASSERT_EQ(joined, tokenizer.decode(ids)) << round;
  }
}

TEST(StreamDecoder, SkipsSpecialTokensWhereAsked) {
  StreamDecoder shown(byte_tokenizer());
  StreamDecoder skipped(byte_tokenizer(), {.skip_special_tokens = true});
  EXPECT_EQ(shown.push(256), "<|im_end|>");
  EXPECT_EQ(skipped.push(256), "");
  EXPECT_EQ(skipped.push('a'), "a");
  EXPECT_THROW((void)shown.push(257), InputError);
}

}  // namespace
}  // namespace titan::text
