#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

class TokenizerFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    put("tokenizer.json",
        byte_tokenizer_json(
            {},
            {{"added_tokens",
              {added_token_json(256, "<s>"), added_token_json(257, "</s>")}}}));
  }

  void put(const std::string& name, const Json& json) {
    write_file_atomic(folder_ / name, json.dump());
  }

  std::string refusal() {
    try {
      (void)Tokenizer::from_folder(folder_);
    } catch (const Error& error) {
      std::string message = error.what();
      return message.substr(message.find(folder_.string()) + folder_.string().size() + 1);
    }
    return "no error";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "tokenizer_folder";
};

TEST_F(TokenizerFolder, AloneIsEnough) {
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.bos_id(), std::nullopt);
  EXPECT_TRUE(tokenizer.eos_ids().empty());
  EXPECT_EQ(tokenizer.chat_template(), "");
  EXPECT_EQ(Tokenizer::load(folder_ / "tokenizer.json").encode("<s>a"), (Ids{256, 97}));
}

TEST_F(TokenizerFolder, ReadsTheSpecialTokens) {
  put("tokenizer_config.json",
      {{"bos_token", {{"content", "<s>"}}},
       {"eos_token", "</s>"},
       {"pad_token", nullptr},
       {"chat_template", "T"},
       {"added_tokens_decoder",
        {{"257", {{"content", "ignored: the tokenizer has it"}}},
         {"258", {{"content", "<|eot|>"}, {"special", true}}}}}});
  put("special_tokens_map.json", {{"pad_token", "<|eot|>"}, {"eos_token", "<s>"}});
  put("generation_config.json", {{"eos_token_id", {257, 258}}});
  const Tokenizer tokenizer = Tokenizer::from_folder(folder_);
  EXPECT_EQ(tokenizer.bos_id(), 256);
  EXPECT_EQ(tokenizer.pad_id(), 258);
  EXPECT_EQ(tokenizer.eos_ids(), (Ids{257, 258}));
  EXPECT_EQ(tokenizer.chat_template(), "T");
  EXPECT_EQ(tokenizer.encode("a<|eot|>"), (Ids{97, 258}));
}

TEST_F(TokenizerFolder, ReadsTheOtherFormsOfATemplate) {
  put("tokenizer_config.json",
      {{"chat_template",
        {{{"name", "tool_use"}, {"template", "A"}},
         {{"name", "default"}, {"template", "B"}}}}});
  EXPECT_EQ(Tokenizer::from_folder(folder_).chat_template(), "B");
  write_file_atomic(folder_ / "chat_template.jinja", "C");
  EXPECT_EQ(Tokenizer::from_folder(folder_).chat_template(), "C");
}

TEST_F(TokenizerFolder, RefusesTokensThatAreNotThere) {
  put("tokenizer_config.json", {{"bos_token", "<bos>"}});
  EXPECT_EQ(
      refusal(),
      "tokenizer_config.json: bos_token: the tokenizer has no token \"<bos>\"");
  put("tokenizer_config.json", Json::object());
  put("generation_config.json", {{"eos_token_id", 258}});
  EXPECT_EQ(
      refusal(), "generation_config.json: eos_token_id: 258 is not the id of a token");
}

TEST_F(TokenizerFolder, RefusesBadFiles) {
  write_file_atomic(folder_ / "tokenizer.json", "{\"model\": {\n  \"type\" \"BPE\"}}");
  EXPECT_EQ(refusal().substr(0, 34), "tokenizer.json:2:14: not valid JSO");
  write_file_atomic(folder_ / "tokenizer.json", "{\"model\": {}, \"model\": {}}");
  EXPECT_EQ(refusal(), "tokenizer.json: not valid JSON: member \"model\" occurs twice");
  fs::remove(folder_ / "tokenizer.json");
  EXPECT_THROW((void)Tokenizer::from_folder(folder_), InputError);
}

}  // namespace
}  // namespace titan::text
