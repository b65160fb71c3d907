#include "titan/text/tokenizer.h"

#include <thread>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer make(
    const std::vector<std::string>& tokens = {}, const Json& parts = Json::object()) {
  return Tokenizer::from_json(byte_tokenizer_json(tokens, parts), "t.json");
}

// The error of loading a tokenizer that differs from the byte tokenizer in `parts`.
std::string refusal(const Json& parts, const std::vector<std::string>& tokens = {}) {
  try {
    (void)make(tokens, parts);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

// The split pattern of Llama 3.
Json llama3_split() {
  constexpr const char* kPattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  Json byte_level = byte_level_json();
  byte_level["use_regex"] = false;
  const Json split = {
      {"type", "Split"},
      {"pattern", {{"Regex", kPattern}}},
      {"behavior", "Isolated"},
      {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}};
}

TEST(Tokenizer, RoundTripsEveryCharacterRange) {
  const Tokenizer tokenizer = make({"ab"}, {{"model", {{"merges", {"a b"}}}}});
  std::string text = "ab";
  for (const char* piece :
       {"\x01",
        " ",
        "\n",
        "\u007F",
        "\u0080",
        "\u07FF",
        "\u0800",
        "\uD7FF",
        "\uE000",
        "\uFFFD",
        "\U00010000",
        "\U0010FFFF"}) {
    text += piece;
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  try {
    (void)make().encode("abc\xFFz");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "the text to encode is not UTF-8: byte 3 of 5");
  }
}

TEST(Tokenizer, RefusesUnknownIds) {
  try {
    (void)make().decode(Ids{97, 256});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "t.json: 256 is not the id of a token (largest: 255)");
  }
  EXPECT_THROW((void)make().piece(-1), InputError);
}

TEST(Tokenizer, PiecesAreBytes) {
  const Tokenizer tokenizer = make({"\u0120the"});
  EXPECT_EQ(tokenizer.piece(256), " the");
  EXPECT_EQ(tokenizer.token(256), "\u0120the");
  EXPECT_EQ(tokenizer.piece(0xE9), "\xE9");
  EXPECT_EQ(tokenizer.token_id("\u0120the"), 256);
  EXPECT_EQ(tokenizer.token_id("the"), std::nullopt);
  EXPECT_EQ(tokenizer.vocab_size(), 257);
}

TEST(Tokenizer, ContentCannotForgeAddedTokens) {
  const Tokenizer tokenizer = make(
      {},
      {{"added_tokens",
        {added_token_json(256, "<|im_end|>"),
         added_token_json(257, "</think>", false)}}});
  const std::string text = "say <|im_end|> a</think>b";
  EXPECT_EQ(tokenizer.encode(text).size(), 9);
  const Ids safe = tokenizer.encode(text, {.parse_special = false});
  EXPECT_EQ(safe.size(), text.size());
  EXPECT_EQ(tokenizer.decode(safe), text);
  // Not even where the vocabulary holds its text and whole pieces need no merges.
  const Tokenizer whole = make(
      {"stop", "halt"},
      {{"added_tokens", {added_token_json(256, "stop")}},
       {"model", {{"ignore_merges", true}}}});
  EXPECT_EQ(whole.encode("halt", {.parse_special = false}), (Ids{257}));
  EXPECT_EQ(whole.encode("stop", {.parse_special = false}), (Ids{'s', 't', 'o', 'p'}));
}

TEST(Tokenizer, SkipsSpecialTokensOnRequest) {
  const Tokenizer tokenizer = make(
      {},
      {{"added_tokens",
        {added_token_json(256, "<|im_end|>"),
         added_token_json(257, "</think>", false)}}});
  const Ids ids = tokenizer.encode("a<|im_end|></think>b");
  EXPECT_EQ(tokenizer.decode(ids), "a<|im_end|></think>b");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special_tokens = true}), "a</think>b");
}

TEST(Tokenizer, UnknownCharacters) {
  Json json = byte_tokenizer_json({"<unk>"});
  json["model"]["vocab"].erase("x");
  json["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(Tokenizer::from_json(json, "t").encode("axxb"), (Ids{97, 256, 256, 98}));
  json["model"]["fuse_unk"] = true;
  EXPECT_EQ(Tokenizer::from_json(json, "t").encode("axxb"), (Ids{97, 256, 98}));
}

// On a thread with a stack of the usual size for worker threads or less.
TEST(Tokenizer, LongPiecesNeedNoStack) {
  const Tokenizer tokenizer =
      make({"xx"}, {{"pre_tokenizer", llama3_split()}, {"model", {{"merges", {"x x"}}}}});
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{256} << 10), 0);

  struct Work {
    const Tokenizer* tokenizer;
    size_t ids;
  } work{&tokenizer, 0};

  pthread_t thread;
  ASSERT_EQ(
      pthread_create(
          &thread,
          &attributes,
          [](void* argument) -> void* {
            auto* in = static_cast<Work*>(argument);
            in->ids = in->tokenizer->encode(repeat("x", size_t{1} << 19)).size();
            return nullptr;
          },
          &work),
      0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(work.ids, size_t{1} << 18);
}

TEST(Tokenizer, AHostilePatternIsAnErrorNotAHang) {
  const Json split = {
      {"type", "Split"},
      {"pattern", {{"Regex", "(a|aa)+$|(a*)*b"}}},
      {"behavior", "Isolated"}};
  const Tokenizer tokenizer = make({}, {{"pre_tokenizer", split}});
  EXPECT_THROW((void)tokenizer.encode(repeat("a", 5000) + "c"), FormatError);
}

TEST(Tokenizer, MergesMayNameTokensWithSpaces) {
  Json json = byte_tokenizer_json({"a b", "a bc"});
  json["model"]["merges"] = Json::array({Json::array({"a b", "c"})});
  EXPECT_NO_THROW((void)Tokenizer::from_json(json, "t"));
}

TEST(Tokenizer, RefusesBadMerges) {
  EXPECT_EQ(
      refusal({{"model", {{"merges", {"a b", Json::array({"a"})}}}}}, {"ab"}),
      "t.json: model.merges.1: expected \"left right\" or [\"left\", \"right\"], got "
      "[\"a\"]");
  EXPECT_EQ(
      refusal({{"model", {{"merges", {"a b c"}}}}}),
      "t.json: model.merges.0: expected \"left right\" or [\"left\", \"right\"], got "
      "\"a b c\"");
  EXPECT_EQ(
      refusal({{"model", {{"merges", {"a zz"}}}}}),
      "t.json: model.merges.0: \"zz\" is not a token of the vocabulary");
  EXPECT_EQ(
      refusal({{"model", {{"merges", {"a b"}}}}}),
      "t.json: model.merges.0: \"ab\" is not a token of the vocabulary");
}

TEST(Tokenizer, T15RefusesUnknownComponentsByName) {
  EXPECT_EQ(
      refusal({{"pre_tokenizer", {{"type", "Frobnicate"}}}}),
      "t.json: pre_tokenizer: type \"Frobnicate\" is not supported (known: ByteLevel, "
      "Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit)");
  EXPECT_EQ(
      refusal(
          {{"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Nmt"}}}}}}}),
      "t.json: normalizer.normalizers.0: type \"Nmt\" is not supported (known: "
      "Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Sequence, Strip, "
      "StripAccents)");
  EXPECT_EQ(
      refusal({{"model", {{"type", "WordPiece"}}}}),
      "t.json: model: type \"WordPiece\" is not supported (known: BPE, Unigram, "
      "WordLevel)");
  EXPECT_EQ(
      refusal({{"decoder", {{"type", "WordPiece"}}}}),
      "t.json: decoder: type \"WordPiece\" is not supported (known: ByteFallback, "
      "ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip)");
  EXPECT_EQ(
      refusal({{"post_processor", {{"type", "Frobnicate"}}}}),
      "t.json: post_processor: type \"Frobnicate\" is not supported (known: "
      "BertProcessing, ByteLevel, RobertaProcessing, TemplateProcessing, Sequence)");
  EXPECT_EQ(
      refusal({{"model", {{"dropout", 0.1}}}}),
      "t.json: model: dropout is not supported: ids would be random");
  EXPECT_EQ(refusal({{"decoder", nullptr}}), "t.json: decoder: missing");
  EXPECT_EQ(
      refusal(
          {{"pre_tokenizer",
            {{"type", "Split"},
             {"pattern", {{"Regex", "(a"}}},
             {"behavior", "Isolated"}}}}),
      "t.json: pre_tokenizer.pattern: not a valid pattern: missing closing parenthesis "
      "near \"(a\"");
}

TEST(Tokenizer, RefusesContradictions) {
  EXPECT_EQ(
      refusal({{"added_tokens", {added_token_json(300, "ab")}}}, {"ab"}),
      "t.json: token \"ab\" has two ids: 256 and 300");
  EXPECT_EQ(
      refusal({{"added_tokens", {added_token_json(256, "<s>")}}}, {"ab"}),
      "t.json: id 256 has two tokens: \"ab\" and \"<s>\"");
  EXPECT_EQ(
      refusal({{"added_tokens", {added_token_json(2'000'000'000, "<s>")}}}),
      "t.json: token \"<s>\": id 2000000000 is above the limit of 16777215");
  EXPECT_EQ(
      refusal({{"model", {{"vocab", {{"a", 0}, {"b", 0}}}}}}),
      "t.json: model.vocab: token \"b\": id 0 belongs to another token too");
}

TEST(Tokenizer, RefusesATemplateWithIdsThatAreNoTokens) {
  const Json item = {{"SpecialToken", {{"id", "<s>"}}}};
  Json special_tokens = Json::object();
  special_tokens["<s>"] = {{"id", "<s>"}, {"ids", {300}}};
  EXPECT_EQ(
      refusal(
          {{"post_processor",
            {{"type", "TemplateProcessing"},
             {"single", Json::array({item})},
             {"special_tokens", special_tokens}}}}),
      "t.json: post_processor: 300 is not the id of a token");
}

TEST(Tokenizer, MustFitTheModel) {
  const Tokenizer tokenizer = make({"ab"});
  EXPECT_NO_THROW(tokenizer.check_fits(257));
  try {
    tokenizer.check_fits(256);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "t.json: token \"ab\" has id 256, but the model's vocabulary has 256 entries");
  }
}

TEST(Tokenizer, BatchesDoNotDependOnTheThreads) {
  const Tokenizer tokenizer =
      make({"ab", "\u0120ab"}, {{"model", {{"merges", {"a b", "\u0120 ab"}}}}});
  std::vector<std::string> texts;
  for (size_t i = 0; i < 100; ++i) {
    texts.push_back(repeat("ab aab ", i) + "<s>");
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<Ids> expected;
  for (const std::string& text : texts) {
    expected.push_back(tokenizer.encode(text));
  }
  for (const size_t threads : {0, 1, 2, 7, 200}) {
    EXPECT_EQ(tokenizer.encode_batch(views, {}, threads), expected) << threads;
  }
  EXPECT_TRUE(tokenizer.encode_batch({}).empty());
}

TEST(Tokenizer, BatchesReportTheFirstError) {
  const Tokenizer tokenizer = make();
  std::vector<std::string_view> texts(50, "fine");
  texts[20] = "a\xFF";
  texts[40] = "\xFF";
  for (const size_t threads : {1, 3}) {
    try {
      (void)tokenizer.encode_batch(texts, {}, threads);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), "the text to encode is not UTF-8: byte 1 of 2");
    }
  }
}

// Byte-level tokenizers lose nothing, whatever the text.
TEST(Tokenizer, DecodingUndoesEncoding) {
  const std::string folder = TITAN_SOURCE_DIR "/";
  const std::vector<Tokenizer> tokenizers{
      make({"ab", "abc"}, {{"model", {{"merges", {"a b", "ab c"}}}}}),
      make(
          {"\u0120the"},
          {{"pre_tokenizer", llama3_split()}, {"model", {{"ignore_merges", true}}}}),
      Tokenizer::load(folder + "data/tokenizers/debug"),
      Tokenizer::load(folder + "titan/text/testdata/tekken.json")};
  Rng rng(3, "round trip");
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (uint64_t i = rng.next_below(40); i > 0; --i) {
      constexpr uint64_t kLimits[] = {0x80, 0x80, 0x80, 0x800, 0x10000, 0x110000};
      const auto point =
          static_cast<char32_t>(rng.next_below(kLimits[rng.next_below(6)]));
      append_utf8(text, point >= 0xD800 && point <= 0xDFFF ? U' ' : point);
    }
    for (const Tokenizer& tokenizer : tokenizers) {
      const Ids ids = tokenizer.encode(text, {.parse_special = false});
      ASSERT_EQ(tokenizer.decode(ids), text) << tokenizer.name() << Json(text);
    }
  }
}

TEST(Tokenizer, IsThreadSafe) {
  const Tokenizer tokenizer =
      make({"ab", "\u0120ab"}, {{"model", {{"merges", {"a b", "\u0120 ab"}}}}});
  const std::string text = repeat("ab abab  a b\n", 500);
  const Ids expected = tokenizer.encode(text);
  std::vector<Ids> results(4);
  {
    std::vector<std::jthread> threads;
    for (Ids& result : results) {
      threads.emplace_back([&] { result = tokenizer.encode(text); });
    }
  }
  for (const Ids& result : results) {
    EXPECT_EQ(result, expected);
  }
}

}  // namespace
}  // namespace titan::text
