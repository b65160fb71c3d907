#include "titan/text/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

GgufTokenizerMetadata small_metadata() {
  return {
      .model = "gpt2",
      .pre = "gpt-2",
      .tokens = {"<s>", "</s>", "a", "b", "ab", "\u0120", "<tool>", "[PAD7]", "1", "11"},
      .token_types = {3, 3, 1, 1, 1, 1, 4, 5, 1, 1},
      .merges = {"a b", "1 1"},
      .bos_id = 0,
      .eos_id = 1,
      .unk_id = std::nullopt,
      .pad_id = 1,
      .add_bos = true,
      .chat_template = "{{ bos_token }}"};
}

Tokenizer tokenizer_of(const GgufTokenizerMetadata& metadata) {
  return Tokenizer::from_json(tokenizer_json_from_gguf(metadata), "gguf");
}

using Ids = std::vector<int32_t>;

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GgufTokenizer, MakesATokenizer) {
  const Tokenizer tokenizer = tokenizer_of(small_metadata());
  EXPECT_EQ(tokenizer.encode("ab a<tool>b"), (Ids{4, 5, 2, 6, 3}));
  EXPECT_EQ(tokenizer.encode("a", {.add_special_tokens = true}), (Ids{0, 2}));
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_FALSE(tokenizer.is_special(6));
  EXPECT_EQ(tokenizer.token_id("[PAD7]"), std::nullopt);
  EXPECT_EQ(tokenizer.vocab_size(), 10);
}

TEST(GgufTokenizer, PreNamesTheSplitting) {
  GgufTokenizerMetadata metadata = small_metadata();
  metadata.add_bos = false;
  EXPECT_EQ(tokenizer_of(metadata).encode("11"), (Ids{9}));
  metadata.pre = "smollm";  // digits one by one
  EXPECT_EQ(tokenizer_of(metadata).encode("11"), (Ids{8, 8}));
}

TEST(GgufTokenizer, EveryPreMakesATokenizer) {
  GgufTokenizerMetadata metadata = small_metadata();
  for (const char* pre :
       {"default",
        "falcon",
        "gpt-2",
        "smollm",
        "starcoder",
        "llama-bpe",
        "llama3",
        "glm4",
        "qwen2",
        "qwen35",
        "stablelm2",
        "gpt-4o",
        "llama4",
        "tekken",
        "kimi-k2",
        "deepseek-v3"}) {
    metadata.pre = pre;
    EXPECT_EQ(tokenizer_of(metadata).encode("ab a"), (Ids{4, 5, 2})) << pre;
  }
}

GgufTokenizerMetadata sentencepiece_metadata() {
  return {
      .model = "llama",
      .pre = "default",
      .tokens =
          {"<unk>",
           "<s>",
           "</s>",
           "<0x0A>",
           "<0xC3>",
           "<0xA9>",
           "\u2581",
           "a",
           "b",
           "ab",
           "\u2581a",
           "ba"},
      .token_types = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1},
      .bos_id = 1,
      .eos_id = 2,
      .unk_id = 0,
      .pad_id = std::nullopt,
      .add_bos = true,
      .add_space_prefix = true,
      .scores = {0, 0, 0, 0, 0, 0, -10, -11, -12, -3, -2, -1}};
}

TEST(GgufTokenizer, MakesASentencePieceTokenizer) {
  const Tokenizer tokenizer = tokenizer_of(sentencepiece_metadata());
  // The best score first: "ba" (-1), then "\u2581a" (-2), then "ab" (-3).
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{10, 8}));
  EXPECT_EQ(tokenizer.encode("aba"), (Ids{10, 11}));
  EXPECT_EQ(tokenizer.encode("b\n\u00E9?"), (Ids{6, 8, 3, 4, 5, 0}));
  EXPECT_EQ(tokenizer.encode("</s>a", {.add_special_tokens = true}), (Ids{1, 2, 10}));
  EXPECT_EQ(tokenizer.decode(Ids{10, 8, 10, 4, 5}), "ab a\u00E9");
  GgufTokenizerMetadata metadata = sentencepiece_metadata();
  metadata.add_space_prefix = false;
  EXPECT_EQ(tokenizer_of(metadata).encode("ab"), (Ids{9}));
  EXPECT_EQ(tokenizer_of(metadata).decode(Ids{10}), " a");
}

TEST(GgufTokenizer, WritesAHuggingFaceFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / "gguf_tokenizer";
  fs::create_directories(folder);
  write_file_atomic(
      folder / "tokenizer.json", tokenizer_json_from_gguf(small_metadata()).dump());
  write_file_atomic(
      folder / "tokenizer_config.json",
      tokenizer_config_from_gguf(small_metadata()).dump());
  const Tokenizer tokenizer = Tokenizer::from_folder(folder);
  EXPECT_EQ(tokenizer.bos_id(), 0);
  EXPECT_EQ(tokenizer.pad_id(), 1);
  EXPECT_EQ(tokenizer.eos_ids(), (Ids{1}));
  EXPECT_EQ(tokenizer.chat_template(), "{{ bos_token }}");
}

TEST(GgufTokenizer, RefusesWhatItDoesNotKnow) {
  const auto message = [](auto change) {
    GgufTokenizerMetadata metadata = small_metadata();
    change(metadata);
    return message_of([&] { (void)tokenizer_json_from_gguf(metadata); });
  };
  using Metadata = GgufTokenizerMetadata;
  EXPECT_EQ(
      message([](Metadata& m) { m.pre = "jais-9"; }).substr(0, 70),
      "tokenizer.ggml.pre: \"jais-9\" is not supported (known: default, falcon,");
  EXPECT_EQ(
      message([](Metadata& m) { m.model = "t5"; }),
      "tokenizer.ggml.model: \"t5\" is not supported (known: gpt2, llama)");
  EXPECT_EQ(
      message([](Metadata& m) { m.model = "llama"; }),
      "tokenizer.ggml.scores: expected 10 entries, got 0");
  EXPECT_EQ(
      message([](Metadata& m) { m.token_types.pop_back(); }),
      "tokenizer.ggml.token_type: expected 10 entries, got 9");
  EXPECT_EQ(
      message([](Metadata& m) { m.bos_id = 10; }),
      "tokenizer.ggml.bos_token_id: 10 is not one of 10 ids");
  EXPECT_EQ(
      message([](Metadata& m) { m.bos_id.reset(); }),
      "tokenizer.ggml.add_bos_token: set, but there is no bos_token_id");
  EXPECT_EQ(
      message([](Metadata& m) { m.tokens[3] = "a"; }),
      "tokenizer.ggml.tokens: id 3: \"a\" occurs twice");
}

}  // namespace
}  // namespace titan::text
