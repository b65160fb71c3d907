// Components of tokenizer.json, SentencePiece models and tekken files give what their
// reference implementations give (testdata/formats.json, made by
// tools/make_tokenizer_format_vectors.py).

#include <gtest/gtest.h>

#include "titan/base/json.h"
#include "titan/text/normalizer.h"
#include "titan/text/pre_tokenizer.h"
#include "titan/text/stream_decoder.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

const std::string kTestData = TITAN_SOURCE_DIR "/titan/text/testdata/";

const Json& vectors() {
  static const Json json = read_json_file(kTestData + "formats.json");
  return json;
}

std::string stream(
    const Tokenizer& tokenizer,
    const std::vector<int32_t>& ids,
    const DecodeOptions& options) {
  StreamDecoder decoder(tokenizer, options);
  std::string text;
  for (const int32_t id : ids) {
    text += decoder.push(id);
  }
  return text + decoder.finish();
}

void expect_encodings(
    const Tokenizer& tokenizer, const Json& encodings, const EncodeOptions& options) {
  ASSERT_FALSE(encodings.empty());
  for (const Json& expected : encodings) {
    const auto text = expected["text"].get<std::string>();
    const std::vector<int32_t> ids = tokenizer.encode(text, options);
    EXPECT_EQ(ids, expected["ids"].get<std::vector<int32_t>>())
        << tokenizer.name() << ": " << Json(text);
    EXPECT_EQ(tokenizer.decode(ids), expected["decoded"].get<std::string>())
        << tokenizer.name() << ": " << Json(text);
    EXPECT_EQ(stream(tokenizer, ids, {}), expected["decoded"].get<std::string>())
        << tokenizer.name() << ": " << Json(text);
    if (expected.contains("skipped")) {
      EXPECT_EQ(
          stream(tokenizer, ids, {.skip_special_tokens = true}),
          expected["skipped"].get<std::string>())
          << tokenizer.name() << ": " << Json(text);
    }
  }
}

TEST(Formats, Normalizers) {
  const auto texts = vectors()["texts"].get<std::vector<std::string>>();
  ASSERT_FALSE(vectors()["normalizers"].empty());
  for (const Json& item : vectors()["normalizers"]) {
    const auto normalizer = make_normalizer(item["normalizer"], "normalizer");
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(normalizer->normalize(texts[i]), item["texts"][i].get<std::string>())
          << item["normalizer"]["type"] << ": " << Json(texts[i]);
    }
  }
}

TEST(Formats, PreTokenizers) {
  const auto texts = vectors()["texts"].get<std::vector<std::string>>();
  ASSERT_FALSE(vectors()["pre_tokenizers"].empty());
  for (const Json& item : vectors()["pre_tokenizers"]) {
    const auto pre_tokenizer = make_pre_tokenizer(item["pre_tokenizer"], "pre_tokenizer");
    for (size_t i = 0; i < texts.size(); ++i) {
      Pieces pieces = Pieces::whole(texts[i]);
      pre_tokenizer->split(pieces);
      std::vector<std::string> result;
      for (const Range& range : pieces.ranges) {
        result.emplace_back(pieces.piece(range));
      }
      EXPECT_EQ(result, item["pieces"][i].get<std::vector<std::string>>())
          << item["pre_tokenizer"] << ": " << Json(texts[i]);
    }
  }
}

TEST(Formats, Tokenizers) {
  ASSERT_FALSE(vectors()["tokenizers"].empty());
  for (const Json& item : vectors()["tokenizers"]) {
    const auto tokenizer =
        Tokenizer::from_json(item["tokenizer"], item["name"].get<std::string>());
    expect_encodings(tokenizer, item["encodings"], {});
    if (item.contains("with_special_tokens")) {
      expect_encodings(
          tokenizer, item["with_special_tokens"], {.add_special_tokens = true});
    }
  }
}

TEST(Formats, SentencePieceBpe) {
  const Tokenizer tokenizer = Tokenizer::load(kTestData + "bpe.model");
  // SentencePiece itself does not look for "<s>" in a text.
  expect_encodings(
      tokenizer, vectors()["sentencepiece"]["bpe"], {.parse_special = false});
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_ids(), (std::vector<int32_t>{2}));
  EXPECT_EQ(tokenizer.encode("", {.add_special_tokens = true}).at(0), 1);
}

TEST(Formats, Tekken) {
  const Tokenizer tokenizer = Tokenizer::load(kTestData + "tekken.json");
  expect_encodings(tokenizer, vectors()["tekken"], {.parse_special = false});
  EXPECT_EQ(tokenizer.bos_id(), tokenizer.token_id("<s>"));
  EXPECT_EQ(tokenizer.token_id("[INST]"), 3);
  EXPECT_EQ(tokenizer.token_id("<SPECIAL_23>"), 23);
  EXPECT_EQ(tokenizer.encode("[INST]a"), (std::vector<int32_t>{3, 24 + 'a'}));
}

}  // namespace
}  // namespace titan::text
