#include "titan/text/chat/token_offsets.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/range.h"

namespace titan::text::chat {
namespace {

using Ends = std::vector<size_t>;

Tokenizer make(const Json& parts, const std::vector<std::string>& tokens = {}) {
  return Tokenizer::from_json(byte_tokenizer_json(tokens, parts), "t");
}

Ends ends(const Tokenizer& tokenizer, const std::string& text) {
  return token_ends(tokenizer, text, tokenizer.encode(text));
}

TEST(TokenOffsets, SpellTheText) {
  const Tokenizer tokenizer = make(
      {{"added_tokens", {added_token_json(257, "<s>")}},
       {"model", {{"merges", {"a b"}}}}},
      {"ab"});
  EXPECT_EQ(ends(tokenizer, "xab<s>é"), (Ends{1, 3, 6, 7, 8}));
  EXPECT_EQ(ends(tokenizer, ""), Ends());
}

TEST(TokenOffsets, WhatAnAddedTokenTakesAlongGoesToTheNextOne) {
  Json token = added_token_json(256, "<s>");
  token["rstrip"] = true;
  const Tokenizer tokenizer = make({{"added_tokens", {token}}});
  EXPECT_EQ(ends(tokenizer, "<s>  x"), (Ends{3, 6}));
  EXPECT_EQ(ends(tokenizer, "x<s>  "), (Ends{1, 6}));
}

TEST(TokenOffsets, FindTheTextAgainAfterNormalization) {
  const Tokenizer tokenizer = make({{"normalizer", {{"type", "NFC"}}}});
  // e and the accent become one character of two bytes.
  const std::string text = "ae\u0301bc";
  EXPECT_EQ(ends(tokenizer, text), (Ends{1, 4, 4, 5, 6}));
}

// --- Tokenizer::encode_marked()

using Ids = std::vector<int32_t>;

TEST(EncodeMarked, FindsAddedTokensInTheRangesOnly) {
  const Tokenizer tokenizer = make(
      {{"added_tokens", {added_token_json(256, "<s>"), added_token_json(257, "<s>a")}}});
  const std::string text = "<s>a<s>";
  const std::vector<Range> all = {{0, 7}};
  EXPECT_EQ(tokenizer.encode_marked(text, all), tokenizer.encode(text));
  EXPECT_EQ(
      tokenizer.encode_marked(text, {}),
      tokenizer.encode(text, {.parse_special = false}));
  const std::vector<Range> first = {{0, 3}};
  EXPECT_EQ(tokenizer.encode_marked(text, first), (Ids{256, 'a', '<', 's', '>'}));
  const std::vector<Range> last = {{4, 7}};
  EXPECT_EQ(tokenizer.encode_marked(text, last), (Ids{'<', 's', '>', 'a', 256}));
  const std::vector<Range> cut = {{0, 2}, {5, 7}};
  EXPECT_EQ(tokenizer.encode_marked(text, cut), tokenizer.encode_marked(text, {}));
}

TEST(EncodeMarked, WorksOnNormalizedText) {
  Json token = added_token_json(256, "yes");
  token["normalized"] = true;
  const Tokenizer tokenizer =
      make({{"added_tokens", {token}}, {"normalizer", {{"type", "Lowercase"}}}});
  const std::string text = "YESyesYES";
  const std::vector<Range> ends = {{0, 3}, {6, 9}};
  EXPECT_EQ(tokenizer.encode_marked(text, ends), (Ids{256, 'y', 'e', 's', 256}));
}

}  // namespace
}  // namespace titan::text::chat
