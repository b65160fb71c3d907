#include "titan/data/token_shard.h"

#include <cstring>

#include <gtest/gtest.h>

#include "titan/data/test_folder.h"
#include "titan/data/tokenize.h"

namespace titan::data {
namespace {

using Ids = std::vector<int32_t>;
using Mask = std::vector<uint8_t>;

class TokenShards : public TestFolder {
 protected:
  // Three documents, one of them empty, the last with a mask.
  std::string write_three(const std::string& mark = "m") {
    const std::string path = (folder_ / "a.safetensors").string();
    TokenShardWriter writer(mark);
    writer.add(Example(Ids{1, 2, 3}));
    writer.add(Example(Ids{}));
    writer.add(Example(Ids{70000, 5}, Mask{0, 1}));
    writer.write(path);
    return path;
  }
};

TEST_F(TokenShards, ReadsWhatWasWritten) {
  const TokenShard shard(write_three(), "m");
  ASSERT_EQ(shard.size(), 3);
  const auto tokens = [&](int64_t index) { return std::get<Tokens>(shard.read(index)); };
  EXPECT_EQ(Ids(tokens(0).ids.begin(), tokens(0).ids.end()), (Ids{1, 2, 3}));
  EXPECT_TRUE(tokens(1).ids.empty());
  EXPECT_EQ(Ids(tokens(2).ids.begin(), tokens(2).ids.end()), (Ids{70000, 5}));
  EXPECT_EQ(Mask(tokens(0).targets.begin(), tokens(0).targets.end()), (Mask{1, 1, 1}));
  EXPECT_EQ(Mask(tokens(2).targets.begin(), tokens(2).targets.end()), (Mask{0, 1}));
  EXPECT_EQ(shard.where(2), (folder_ / "a.safetensors").string() + ": document 2");
}

TEST_F(TokenShards, AWriterBeginsAnewAndLeavesAFullMaskOut) {
  TokenShardWriter writer("m");
  writer.add(Example(Ids{1, 2}, Mask{0, 1}));
  writer.write(folder_ / "a.safetensors");
  EXPECT_EQ(writer.num_tokens(), 0);
  writer.add(Example(Ids{3, 4}));
  writer.write(folder_ / "b.safetensors");
  const TokenShard shard(folder_ / "b.safetensors", "m");
  const auto tokens = std::get<Tokens>(shard.read(0));
  EXPECT_EQ(tokens.ids[0], 3);
  EXPECT_TRUE(tokens.targets.empty());
}

TEST_F(TokenShards, RefusesAnotherTokenizersTokens) {
  const std::string path = write_three("aaaa");
  EXPECT_EQ(
      refusal([&] { TokenShard(path, "bbbb"); }),
      "a.safetensors: its tokens were made by the tokenizer aaaa, but here it is bbbb");
}

// A file with this header and 48 bytes of data.
std::string shard_file(const Json& header) {
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + text + std::string(48, '\0');
}

Json entry(const char* dtype, int64_t size, int64_t begin, int64_t end) {
  return {{"dtype", dtype}, {"shape", {size}}, {"data_offsets", {begin, end}}};
}

TEST_F(TokenShards, RefusesWhatIsNoShard) {
  const auto refusal_of = [&](const std::string& content) {
    const std::string path = put("a.safetensors", content);
    return refusal([&] { TokenShard(path, "m"); });
  };
  EXPECT_EQ(refusal_of(""), "a.safetensors: not a safetensors file");
  EXPECT_EQ(refusal_of("12345678{}"), "a.safetensors: not a safetensors file");
  const std::string no_tokens =
      "a.safetensors: not a file of tokens: its metadata have no format "
      "\"titan-tokens-1\"";
  EXPECT_EQ(refusal_of(shard_file({{"w", entry("F32", 12, 0, 48)}})), no_tokens);
  EXPECT_EQ(refusal_of(shard_file({{"__metadata__", {{"format", "pt"}}}})), no_tokens);
  const auto refusal_with = [&](const Json& offsets, const Json& tokens) {
    return refusal_of(shard_file(
        {{"__metadata__", {{"format", "titan-tokens-1"}, {"tokenizer", "m"}}},
         {"offsets", offsets},
         {"tokens", tokens}}));
  };
  EXPECT_EQ(
      refusal_with(entry("I32", 2, 0, 8), entry("I32", 0, 16, 16)).substr(0, 76),
      "a.safetensors: offsets: expected one dimension of I64 within 48 bytes, got {");
  EXPECT_EQ(
      refusal_with(entry("I64", 2, 0, 16), entry("I32", 9, 16, 52)).substr(0, 75),
      "a.safetensors: tokens: expected one dimension of I32 within 48 bytes, got {");
  EXPECT_EQ(
      refusal_with(entry("I64", 1, 4, 12), entry("I32", 0, 16, 16)),
      "a.safetensors: offsets: its data are not aligned to 8 bytes");
  // The data are zeros: no offset names the tokens' end.
  EXPECT_EQ(
      refusal_with(entry("I64", 2, 0, 16), entry("I32", 1, 16, 20)),
      "a.safetensors: offsets, tokens and targets disagree in their sizes");
  EXPECT_EQ(
      refusal_with(entry("I64", 0, 0, 0), entry("I32", 0, 16, 16)),
      "a.safetensors: offsets, tokens and targets disagree in their sizes");
}

TEST_F(TokenShards, TheMarkTellsTokenizersApart) {
  const std::string mark = tokenizer_mark(tokenizer());
  EXPECT_EQ(mark, tokenizer_mark(tokenizer()));
  EXPECT_EQ(mark.size(), 16);
  EXPECT_NE(
      mark,
      tokenizer_mark(
          text::Tokenizer::from_folder(TITAN_SOURCE_DIR "/data/tokenizers/debug")));
}

TEST_F(TokenShards, TokenizingKeepsTheOrderAndCounts) {
  const DataConfig config{
      .sources =
          {{.path = put_jsonl("a.jsonl", {"ab", "", "cde"})},
           {.path = put("b.txt", "f")}},
      .add_bos = true,
      .add_eos = false};
  const TokenizeResult result =
      write_token_files(config, tokenizer(), folder_ / "tokens", 3);
  EXPECT_EQ(result.files, 3);
  EXPECT_EQ(result.tokens, 3 + 4 + 2);
  EXPECT_EQ(result.counts, (DocumentCounts{.documents = 4, .without_label = 1}));
  const std::string mark = tokenizer_mark(tokenizer());
  const TokenShard first(folder_ / "tokens" / "tokens-00000.safetensors", mark);
  const auto tokens = std::get<Tokens>(first.read(0));
  EXPECT_EQ(Ids(tokens.ids.begin(), tokens.ids.end()), (Ids{kBos, 'a', 'b'}));
  EXPECT_TRUE(fs::exists(folder_ / "tokens" / "tokens-00002.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "tokens.partial"));
  EXPECT_EQ(
      refusal(
          [&] { (void)write_token_files(config, tokenizer(), folder_ / "tokens", 3); }),
      "tokens: is there already");
}

TEST_F(TokenShards, TokenizingNothingLeavesNothing) {
  const DataConfig config{.sources = {{.path = put_jsonl("a.jsonl", {"", ""})}}};
  EXPECT_EQ(
      refusal([&] { (void)write_token_files(config, tokenizer(), folder_ / "t", 3); }),
      "data: nothing to learn from: of 2 documents 0 are not valid, 0 too long, and 2 "
      "have no token to predict");
  EXPECT_FALSE(fs::exists(folder_ / "t"));
}

}  // namespace
}  // namespace titan::data
