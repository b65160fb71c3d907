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
      message([](Metadata& m) { m.pre = "tekken"; }),
      "tokenizer.ggml.pre: \"tekken\" is not supported (known: default, gpt-2, "
      "llama-bpe, qwen2, smollm)");
  EXPECT_EQ(
      message([](Metadata& m) { m.model = "llama"; }),
      "tokenizer.ggml.model: \"llama\" is not supported (known: gpt2)");
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
