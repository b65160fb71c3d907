#include "titan/text/tiktoken.h"

#include <unordered_set>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/base64.h"
#include "titan/text/tiktoken_family.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      const uint32_t byte =
          at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
      bits = bits << 8 | byte;
    }
    for (size_t i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

// The bytes, all pairs of bytes, then triples that begin with two letters.
std::string rank_file(size_t count) {
  std::string file;
  for (size_t rank = 0; rank < count; ++rank) {
    std::string token;
    if (rank < 256) {
      token = {static_cast<char>(rank)};
    } else if (rank < 256 + 65536) {
      token = {static_cast<char>((rank - 256) >> 8), static_cast<char>(rank - 256)};
    } else {
      const size_t i = rank - 256 - 65536;
      token = {
          static_cast<char>('a' + (i >> 16)),
          static_cast<char>(i >> 8),
          static_cast<char>(i)};
    }
    file += fmt::format("{} {}\n", encode_base64(token), rank);
  }
  return file;
}

std::string refusal(const std::string& text) {
  try {
    (void)read_tiktoken(text, "f", {});
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Base64, Decodes) {
  for (const std::string bytes :
       {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xFF\x80"}) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  for (const char* text : {"Zg", "Zg=", "Zm9v!A==", "====", "Z=g="}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

TEST(Tiktoken, KnowsTheFamilies) {
  for (const auto& [ranks, special] : std::vector<std::pair<size_t, size_t>>{
           {128000, 256}, {200000, 2048}, {151643, 208}, {248044, 33}, {163584, 256}}) {
    const TiktokenFamily& family = find_tiktoken_family(ranks, "f");
    const std::vector<std::string> tokens = family.special_tokens();
    EXPECT_EQ(tokens.size(), special) << family.name;
    EXPECT_EQ(
        std::unordered_set<std::string>(tokens.begin(), tokens.end()).size(), special)
        << family.name;
  }
}

TEST(Tiktoken, ReadsAFolderOfLlama3) {
  const fs::path folder = fs::path(testing::TempDir()) / "tiktoken_folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  write_file_atomic(folder / "tokenizer.model", rank_file(128000));
  const Tokenizer plain = Tokenizer::load(folder);
  EXPECT_EQ(plain.bos_id(), 128000);
  EXPECT_EQ(plain.eos_ids(), (Ids{128001, 128008, 128009}));
  EXPECT_EQ(plain.token_id("<|eot_id|>"), 128009);
  EXPECT_EQ(plain.vocab_size(), 128256);
  EXPECT_EQ(
      plain.encode("a<|eot_id|>", {.add_special_tokens = true}),
      (Ids{128000, 97, 128009}));
  EXPECT_EQ(plain.encode("ab"), (Ids{256 + 97 * 256 + 98}));
  // Merges go by rank: the two pairs of "abcd" before any triple.
  EXPECT_EQ(plain.encode("abcd").size(), 2);
  // The config renames tokens, and decides on BOS.
  Json config = {{"add_bos_token", false}, {"eos_token", "<|stop|>"}};
  config["added_tokens_decoder"]["128009"] = {{"content", "<|stop|>"}, {"special", true}};
  write_file_atomic(folder / "tokenizer_config.json", config.dump());
  const Tokenizer configured = Tokenizer::load(folder);
  EXPECT_EQ(configured.token_id("<|eot_id|>"), std::nullopt);
  EXPECT_EQ(configured.eos_ids(), (Ids{128009}));
  EXPECT_EQ(
      configured.encode("a<|stop|>", {.add_special_tokens = true}), (Ids{97, 128009}));
}

TEST(Tiktoken, FindsTheFileOfAFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / "tokenizer_files";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string testdata = TITAN_SOURCE_DIR "/titan/text/testdata/";
  try {
    (void)Tokenizer::load(folder);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(
        error.what(),
        folder.string() +
            ": expected tokenizer.json, tekken.json, tokenizer.model, tiktoken.model or "
            "one *.tiktoken");
  }
  write_file_atomic(folder / "tokenizer.model", read_file(testdata + "bpe.model"));
  EXPECT_EQ(Tokenizer::load(folder).token_id("<0x0A>").has_value(), true);
  write_file_atomic(folder / "tekken.json", read_file(testdata + "tekken.json"));
  EXPECT_EQ(Tokenizer::load(folder).token_id("[INST]").has_value(), true);
}

TEST(Tiktoken, RefusesBadFiles) {
  EXPECT_EQ(refusal("YQ== 0\nYg==\n"), "f:2: expected a token in base64 and its rank");
  EXPECT_EQ(refusal("YQ== 0\nYg== x\n"), "f:2: expected a token in base64 and its rank");
  EXPECT_EQ(
      refusal("YQ== 0\n"),
      "f: a tiktoken file of 1 ranks is not supported (known: Llama 3 128000, Llama 4 "
      "200000, Qwen 151643, Qwen 3.5 248044, Kimi K2 163584)");
  std::string twice = rank_file(128000);
  twice.replace(0, 4, "AQ==");
  EXPECT_EQ(refusal(twice), "f: rank 1: the token \"\u0101\" or its rank occurs twice");
  EXPECT_FALSE(looks_like_tiktoken("{\"a\": 1}"));
  EXPECT_FALSE(looks_like_tiktoken(""));
}

}  // namespace
}  // namespace titan::text
