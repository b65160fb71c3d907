#include "titan/text/decoder.h"

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/text/stream_decoder.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

Json sequence(const Json& parts) {
  return {{"type", "Sequence"}, {"decoders", parts}};
}

Json strip(int start, int stop) {
  return {{"type", "Strip"}, {"content", " "}, {"start", start}, {"stop", stop}};
}

Json replace_mark() {
  return {{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
}

// Ids 0 .. 255 are the byte tokens, then "a", the mark and "<mark>b".
Tokenizer tokenizer_with(const Json& decoder) {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[fmt::format("<0x{:02X}>", byte)] = byte;
  }
  vocabulary["a"] = 256;
  vocabulary["\u2581"] = 257;
  vocabulary["\u2581b"] = 258;
  const Json json = {
      {"decoder", decoder},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  return Tokenizer::from_json(json, "t");
}

const Json kLlamaDecoder = sequence(
    {replace_mark(), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip(1, 0)});

TEST(Decoder, BytesJoinToCharacters) {
  const Tokenizer tokenizer = tokenizer_with(kLlamaDecoder);
  EXPECT_EQ(tokenizer.decode(Ids{0xC3, 0xA9, 256}), "\u00E9a");
  EXPECT_EQ(tokenizer.decode(Ids{0xC3, 256, 0xA9}), "\uFFFDa\uFFFD");
  EXPECT_EQ(tokenizer.piece(0xC3), "\xC3");
  EXPECT_EQ(tokenizer.piece(258), " b");
}

TEST(Decoder, StripsOnceAtTheStart) {
  const Tokenizer tokenizer = tokenizer_with(kLlamaDecoder);
  EXPECT_EQ(tokenizer.decode(Ids{258, 258}), "b b");
  EXPECT_EQ(tokenizer.decode(Ids{257, 258}), " b");
  EXPECT_EQ(tokenizer.decode(Ids{256, 257}), "a ");
  EXPECT_EQ(tokenizer.decode(Ids{' ', 256}), "a");
}

TEST(Decoder, HoldsBackWhatItMayStripOffTheEnd) {
  const Tokenizer tokenizer =
      tokenizer_with(sequence({replace_mark(), {{"type", "Fuse"}}, strip(0, 2)}));
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(256), "a");
  EXPECT_EQ(decoder.push(257), "");
  EXPECT_EQ(decoder.push(257), "");
  EXPECT_EQ(decoder.push(257), " ");
  EXPECT_EQ(decoder.push(258), "   b");
  EXPECT_EQ(decoder.push(257), "");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(Decoder, TheFirstMarkOfMetaspaceVanishes) {
  const auto metaspace = [](const char* scheme) {
    return Json{
        {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
  };
  EXPECT_EQ(tokenizer_with(metaspace("always")).decode(Ids{258, 258, 257}), "b b ");
  EXPECT_EQ(tokenizer_with(metaspace("never")).decode(Ids{258, 258}), " b b");
}

TEST(Decoder, StripBeforeFuseIsForEachToken) {
  const Tokenizer tokenizer =
      tokenizer_with(sequence({replace_mark(), strip(1, 0), {{"type", "Fuse"}}}));
  EXPECT_EQ(tokenizer.decode(Ids{258, 258, 256}), "bba");
}

TEST(Decoder, JoinedDeltasEqualDecode) {
  Rng rng(1, "deltas");
  for (const Json& description :
       {kLlamaDecoder,
        sequence(
            {replace_mark(),
             {{"type", "ByteFallback"}},
             {{"type", "Fuse"}},
             strip(2, 3)}),
        Json{{"type", "Metaspace"}, {"replacement", "\u2581"}}}) {
    const Tokenizer tokenizer = tokenizer_with(description);
    for (int round = 0; round < 200; ++round) {
      Ids ids;
      std::string joined;
      StreamDecoder decoder(tokenizer);
      for (uint64_t i = rng.next_below(20); i > 0; --i) {
        ids.push_back(static_cast<int32_t>(
            rng.next_below(2) == 0 ? 0x80 + rng.next_below(128)
                                   : 256 + rng.next_below(3)));
        joined += decoder.push(ids.back());
      }
      joined += decoder.finish();
      ASSERT_EQ(joined, tokenizer.decode(ids));
    }
  }
}

TEST(Decoder, RefusesPartsThatWouldSeeTheWholeText) {
  const auto refusal = [](const Json& parts) {
    try {
      (void)make_decoder(sequence(parts), "d");
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Json fuse = {{"type", "Fuse"}};
  EXPECT_EQ(
      refusal({fuse, replace_mark()}),
      "d.decoders.1: Replace is not supported behind Fuse or ByteLevel");
  EXPECT_EQ(
      refusal({{{"type", "ByteLevel"}}, {{"type", "ByteFallback"}}}),
      "d.decoders.1: ByteFallback is not supported behind Fuse or ByteLevel");
  EXPECT_EQ(
      refusal({fuse, strip(1, 0), strip(1, 0)}),
      "d.decoders.2: a second Strip behind Fuse is not supported");
  EXPECT_EQ(
      refusal(Json::array({strip(-1, 0)})),
      "d.decoders.0: expected a character \"content\" and counts \"start\" and \"stop\"");
}

}  // namespace
}  // namespace titan::text
