// Inputs that made other tokenizers fail in use, by the numbers of the project's list of
// field cases. T04, T06, T08 and T15 are also in vectors_test.cpp and formats_test.cpp.

#include <algorithm>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/split_patterns.h"
#include "titan/text/stream_decoder.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer make(
    const std::vector<std::string>& tokens = {}, const Json& parts = Json::object()) {
  return Tokenizer::from_json(byte_tokenizer_json(tokens, parts), "t.json");
}

std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

Json split_and_spell(const char* pattern) {
  Json byte_level = byte_level_json();
  byte_level["use_regex"] = false;
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}};
}

// Tokens "<s>", "</s>", the mark, "hi", and the mark before "hi".
Tokenizer llama_toy(
    const Json& normalizer, const Json& pre_tokenizer, const Json& decoder) {
  const std::string mark = "\u2581";
  Json vocabulary = {
      {"<unk>", 0}, {"<s>", 1}, {"</s>", 2}, {mark, 3}, {"h", 4}, {"i", 5}, {"hi", 6}};
  vocabulary[mark + "hi"] = 7;
  const Json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  Json special = Json::object();
  special["<s>"] = {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}};
  const Json json = {
      {"added_tokens", {added_token_json(1, "<s>"), added_token_json(2, "</s>")}},
      {"normalizer", normalizer},
      {"pre_tokenizer", pre_tokenizer},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", Json::array({bos, text})},
        {"special_tokens", special}}},
      {"decoder", decoder},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"vocab", vocabulary},
        {"merges", {"h i", mark + " hi"}}}}};
  return Tokenizer::from_json(json, "llama");
}

Json replace(const char* text, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", text}}}, {"content", content}};
}

Tokenizer prepending_llama() {
  const Json normalizers =
      Json::array({{{"type", "Prepend"}, {"prepend", "\u2581"}}, replace(" ", "\u2581")});
  const Json decoders = Json::array(
      {replace("\u2581", " "),
       {{"type", "ByteFallback"}},
       {{"type", "Fuse"}},
       {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}});
  return llama_toy(
      {{"type", "Sequence"}, {"normalizers", normalizers}},
      nullptr,
      {{"type", "Sequence"}, {"decoders", decoders}});
}

Tokenizer metaspace_llama(const char* scheme) {
  const Json metaspace = {
      {"type", "Metaspace"},
      {"replacement", "\u2581"},
      {"prepend_scheme", scheme},
      {"split", false}};
  return llama_toy(nullptr, metaspace, metaspace);
}

TEST(FieldCases, T01IgnoreMergesFindsWholeWords) {
  const std::vector<std::string> tokens{"ab", "abc"};
  EXPECT_EQ(
      make(tokens, {{"model", {{"merges", {"a b"}}}}}).encode("abc"), (Ids{256, 99}));
  EXPECT_EQ(
      make(tokens, {{"model", {{"merges", {"a b"}}, {"ignore_merges", true}}}})
          .encode("abc"),
      (Ids{257}));
}

TEST(FieldCases, T02LongRunsOfOneClassForEveryKindOfPattern) {
  for (
      const char* pattern :
      {kLlama3Pattern,
       kO200kPattern,
       kKimiPattern,
       kDeepSeek3Patterns[2],
       // Not for the automaton: possessive, with an end of line.
       R"([^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s+)"}) {
    const Tokenizer tokenizer = make(
        {"aa", "aaaa", "\u0120\u0120", "\u0120\u0120\u0120\u0120"},
        {{"pre_tokenizer", split_and_spell(pattern)},
         {"model",
          {{"merges", {"a a", "aa aa", "\u0120 \u0120", "\u0120\u0120 \u0120\u0120"}}}}});
    EXPECT_EQ(tokenizer.encode(repeat("a", 200'000)).size(), 50'000) << pattern;
    EXPECT_EQ(tokenizer.encode(repeat(" ", 200'000)).size(), 50'000) << pattern;
    EXPECT_EQ(tokenizer.encode(repeat("\u00E9", 100'000)).size(), 200'000) << pattern;
    EXPECT_EQ(tokenizer.encode(repeat("\n", 100'000)).size(), 100'000) << pattern;
    EXPECT_EQ(tokenizer.encode(repeat(".", 60'000)).size(), 60'000) << pattern;
    EXPECT_EQ(tokenizer.encode(repeat("\u4E2D", 60'000)).size(), 180'000) << pattern;
  }
}

TEST(FieldCases, T03OneWordOfHalfAMegabyte) {
  const Tokenizer tokenizer = make(
      {"xx", "--", "__"},
      {{"pre_tokenizer", split_and_spell(kLlama3Pattern)},
       {"model", {{"merges", {"x x", "- -", "_ _"}}}}});
  for (const char* letter : {"x", "-", "_"}) {
    EXPECT_EQ(tokenizer.encode(repeat(letter, size_t{1} << 19)).size(), size_t{1} << 18);
  }
}

TEST(FieldCases, T04ManyAddedTokens) {
  Json added = Json::array();
  for (int i = 0; i < 6000; ++i) {
    added.push_back(added_token_json(256 + i, fmt::format("<unused{}>", i)));
  }
  const Tokenizer tokenizer = make({}, {{"added_tokens", added}});
  EXPECT_EQ(tokenizer.encode(repeat("<\n", 10'000)).size(), 20'000);
  EXPECT_EQ(tokenizer.encode(repeat("<unused", 10'000)).size(), 70'000);
  EXPECT_EQ(tokenizer.encode("<unused12><unused5999>x"), (Ids{268, 6255, 'x'}));
}

TEST(FieldCases, T05MergesAsTextAndAsPairs) {
  const std::vector<std::string> tokens{"ab", "abc"};
  const Json pairs = Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})});
  for (const Json& merges : {Json({"a b", "ab c"}), pairs}) {
    EXPECT_EQ(
        make(tokens, {{"model", {{"merges", merges}}}}).encode("abc abc"),
        (Ids{257, 32, 257}));
  }
}

TEST(FieldCases, T06StripsOfAddedTokens) {
  const auto encode = [](bool lstrip, bool rstrip, const std::string& text) {
    Json token = added_token_json(256, "<t>");
    token["lstrip"] = lstrip;
    token["rstrip"] = rstrip;
    return make({}, {{"added_tokens", {token}}}).encode(text);
  };
  EXPECT_EQ(encode(false, false, "a <t> b"), (Ids{97, 32, 256, 32, 98}));
  EXPECT_EQ(encode(false, false, "<t>  <t>"), (Ids{256, 32, 32, 256}));
  EXPECT_EQ(encode(true, false, "a <t> b"), (Ids{97, 256, 32, 98}));
  EXPECT_EQ(encode(true, false, "<t>  <t>"), (Ids{256, 256}));
  EXPECT_EQ(encode(false, true, "a <t> b"), (Ids{97, 32, 256, 98}));
  EXPECT_EQ(encode(false, true, "<t>  <t>"), (Ids{256, 256}));
}

TEST(FieldCases, T08NormalizedAddedTokens) {
  const auto count = [](const char* type,
                        const char* content,
                        bool normalized,
                        const std::string& text) {
    Json token = added_token_json(256, content, false);
    token["normalized"] = normalized;
    const Tokenizer tokenizer =
        make({}, {{"added_tokens", {token}}, {"normalizer", {{"type", type}}}});
    return std::ranges::count(tokenizer.encode(text), 256);
  };
  EXPECT_EQ(count("Lowercase", "Yes", true, "Yes|yes|YES"), 3);
  EXPECT_EQ(count("Lowercase", "Yes", false, "Yes|yes|YES"), 1);
  EXPECT_EQ(count("NFC", "na\u00EFve", false, "na\u00EFve|nai\u0308ve"), 1);
  EXPECT_EQ(count("NFC", "na\u00EFve", true, "na\u00EFve|nai\u0308ve"), 2);
}

TEST(FieldCases, T10MarksBehindSpecialTokens) {
  const EncodeOptions options{.add_special_tokens = true};
  EXPECT_EQ(prepending_llama().encode("hi</s>hi", options), (Ids{1, 7, 2, 7}));
  EXPECT_EQ(metaspace_llama("always").encode("hi</s>hi", options), (Ids{1, 7, 2, 7}));
  EXPECT_EQ(metaspace_llama("first").encode("hi</s>hi", options), (Ids{1, 7, 2, 6}));
  EXPECT_EQ(metaspace_llama("never").encode("hi</s>hi", options), (Ids{1, 6, 2, 6}));
}

TEST(FieldCases, T11LeadingSpacesOfDecodedText) {
  const auto round_trip = [](const Tokenizer& tokenizer, const char* text) {
    return tokenizer.decode(
        tokenizer.encode(text, {.add_special_tokens = true}),
        {.skip_special_tokens = true});
  };
  EXPECT_EQ(round_trip(prepending_llama(), "hi"), "hi");
  EXPECT_EQ(round_trip(prepending_llama(), "  hi"), "  hi");
  EXPECT_EQ(round_trip(prepending_llama(), ""), "");
  for (const char* scheme : {"first", "always"}) {
    EXPECT_EQ(round_trip(metaspace_llama(scheme), "hi"), "hi");
    EXPECT_EQ(round_trip(metaspace_llama(scheme), "  hi"), " hi");  // as the reference
    EXPECT_EQ(round_trip(metaspace_llama(scheme), ""), "");
  }
}

TEST(FieldCases, T13StreamsWholeCharacters) {
  StreamDecoder decoder(make());
  std::vector<std::string> deltas;
  for (const char byte :
       std::string_view("h\u00E9\U0001F600\u00FF\xF0\x41\x42\xF0\x9F")) {
    deltas.push_back(decoder.push(static_cast<unsigned char>(byte)));
  }
  deltas.push_back(decoder.finish());
  EXPECT_EQ(
      deltas,
      (std::vector<std::string>{
          "h",
          "",
          "\u00E9",
          "",
          "",
          "",
          "\U0001F600",
          "",
          "\u00FF",
          "",
          "\uFFFD"
          "A",
          "B",
          "",
          "",
          "\uFFFD"}));
}

TEST(FieldCases, T14ContentCannotForgeTokens) {
  const Tokenizer tokenizer = make(
      {},
      {{"added_tokens",
        {added_token_json(256, "<|im_end|>"),
         added_token_json(257, "</think>", false)}}});
  for (const std::string text : {"say <|im_end|> ok", "a</think>b"}) {
    EXPECT_LT(tokenizer.encode(text).size(), text.size());
    EXPECT_EQ(tokenizer.encode(text, {.parse_special = false}).size(), text.size());
  }
}

// A text is encoded as a whole, so a long one gives the ids of its parts where a part
// ends with a line; and without any place to cut it still takes linear time.
TEST(FieldCases, T17OneDocumentOfFiveMegabytes) {
  const Tokenizer tokenizer = make(
      {"th", "the", "\u0120t", "ee"},
      {{"pre_tokenizer", split_and_spell(kLlama3Pattern)},
       {"model", {{"merges", {"t h", "th e", "\u0120 t", "e e"}}}}});
  std::string sentences;
  Ids expected;
  for (int i = 0; i < 10'000; ++i) {
    const std::string sentence =
        fmt::format("the {} tee the{} {}\n", i, i % 7, repeat("thee ", 90 + i % 10));
    sentences += sentence;
    const Ids ids = tokenizer.encode(sentence);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  EXPECT_GT(sentences.size(), 4'500'000);
  EXPECT_EQ(tokenizer.encode(sentences), expected);
  EXPECT_EQ(tokenizer.encode(repeat("thee", 1'250'000)).size(), 2 * 1'250'000);
}

TEST(FieldCases, T18TruncationToLessThanTheSpecialTokens) {
  const Json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  Json special = Json::object();
  special["<s>"] = {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}};
  const Tokenizer tokenizer = make(
      {},
      {{"added_tokens", {added_token_json(256, "<s>")}},
       {"post_processor",
        {{"type", "TemplateProcessing"},
         {"single", Json::array({bos, text, bos})},
         {"special_tokens", special}}}});
  const auto encode = [&](size_t max_tokens) {
    return tokenizer.encode(
        "abcde", {.add_special_tokens = true, .max_tokens = max_tokens});
  };
  EXPECT_EQ(encode(0).size(), 7);  // no limit
  EXPECT_EQ(encode(2), (Ids{256, 256}));
  EXPECT_EQ(encode(3), (Ids{256, 97, 256}));
  EXPECT_EQ(encode(7).size(), 7);
  EXPECT_EQ(tokenizer.encode("abcde", {.max_tokens = 2}), (Ids{97, 98}));
  try {
    (void)encode(1);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(), "at most 1 tokens are asked for, but 2 special ones are added");
  }
}

TEST(FieldCases, T20AddedTokensDecodeToTheirText) {
  const Tokenizer tokenizer =
      make({}, {{"added_tokens", {added_token_json(256, "na\u00EFve", false)}}});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("na\u00EFve")), "na\u00EFve");
}

}  // namespace
}  // namespace titan::text
