// Ids, pieces and decoded text equal to those of the reference implementation
// (testdata/vectors.json, made by tools/make_tokenizer_vectors.py).

#include <gtest/gtest.h>

#include "titan/base/json.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/gguf_tokenizer.h"
#include "titan/text/pre_tokenizer.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

const std::string kTestData = TITAN_SOURCE_DIR "/titan/text/testdata/";

const Json& vectors() {
  static const Json json = read_json_file(kTestData + "vectors.json");
  return json;
}

void expect_encodings(
    const Tokenizer& tokenizer, const Json& encodings, bool add_special_tokens = false) {
  ASSERT_FALSE(encodings.empty());
  for (const Json& expected : encodings) {
    const auto text = expected["text"].get<std::string>();
    const std::vector<int32_t> ids =
        tokenizer.encode(text, {.add_special_tokens = add_special_tokens});
    EXPECT_EQ(ids, expected["ids"].get<std::vector<int32_t>>())
        << tokenizer.name() << ": " << Json(text);
    if (expected.contains("decoded")) {
      EXPECT_EQ(tokenizer.decode(ids), expected["decoded"].get<std::string>())
          << tokenizer.name() << ": " << Json(text);
    }
  }
}

TEST(Vectors, ByteTokenizers) {
  ASSERT_FALSE(vectors()["byte_cases"].empty());
  for (const Json& item : vectors()["byte_cases"]) {
    const Json json = byte_tokenizer_json(
        item["tokens"].get<std::vector<std::string>>(), item["parts"]);
    expect_encodings(
        Tokenizer::from_json(json, item["name"].get<std::string>()),
        item["encodings"],
        item["add_special_tokens"].get<bool>());
  }
}

TEST(Vectors, PreTokenizers) {
  const auto texts = vectors()["texts"].get<std::vector<std::string>>();
  ASSERT_FALSE(vectors()["splits"].empty());
  for (const Json& item : vectors()["splits"]) {
    const Json& description = item["pre_tokenizer"];
    const auto pre_tokenizer = make_pre_tokenizer(description, "pre_tokenizer");
    for (size_t i = 0; i < texts.size(); ++i) {
      Pieces pieces = Pieces::whole(texts[i]);
      pre_tokenizer->split(pieces);
      std::vector<std::string> result;
      for (const Range& range : pieces.ranges) {
        result.emplace_back(pieces.piece(range));
      }
      EXPECT_EQ(result, item["pieces"][i].get<std::vector<std::string>>())
          << description << ": " << Json(texts[i]);
    }
  }
}

// The tokenizer that a GGUF file describes, cut down to its first merges.
TEST(Vectors, SmolLm2FromGguf) {
  const Json cut = read_json_file(kTestData + "smollm2_metadata.json");
  const GgufTokenizerMetadata metadata{
      .model = "gpt2",
      .pre = "smollm",
      .tokens = cut["tokens"].get<std::vector<std::string>>(),
      .token_types = cut["token_types"].get<std::vector<int32_t>>(),
      .merges = cut["merges"].get<std::vector<std::string>>(),
      .bos_id = 1,
      .eos_id = 2,
      .unk_id = 0,
      .pad_id = 2};
  expect_encodings(
      Tokenizer::from_json(tokenizer_json_from_gguf(metadata), "smollm2"),
      vectors()["smollm2"]);
}

TEST(Vectors, DebugTokenizer) {
  const auto tokenizer =
      Tokenizer::from_folder(TITAN_SOURCE_DIR "/data/tokenizers/debug");
  expect_encodings(tokenizer, vectors()["debug"]);
  EXPECT_EQ(tokenizer.vocab_size(), 2048);
  EXPECT_EQ(tokenizer.bos_id(), tokenizer.token_id("<|begin_of_text|>"));
  EXPECT_EQ(tokenizer.token(tokenizer.eos_ids().at(0)), "<|end_of_text|>");
}

}  // namespace
}  // namespace titan::text
