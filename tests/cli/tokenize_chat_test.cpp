// A chat as tokens, with the binary as its users run it.

#include <string>

#include "tests/cli/process.h"
#include <gtest/gtest.h>

#include "titan/base/files.h"
#include "titan/text/byte_tokenizer_fixture.h"

namespace titan::test {
namespace {

class TokenizeChat : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const Json tokenizer = text::byte_tokenizer_json(
        {}, {{"added_tokens", {text::added_token_json(256, "<e>")}}});
    write_file_atomic(folder_ / "tokenizer.json", tokenizer.dump());
    write_file_atomic(
        folder_ / "chat_template.jinja",
        "{% for m in messages %}{{ m.content }}<e>{% endfor %}"
        "{{ tools[0].name if tools }}{{ '>' if add_generation_prompt }}");
    put("chat.json", {{{"role", "user"}, {"content", "a"}}});
    put("tools.json", {{{"name", "t"}}});
  }

  void put(const std::string& name, const Json& json) {
    write_file_atomic(folder_ / name, json.dump());
  }

  [[nodiscard]] ProcessResult tokenize(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"tokenize", folder_.string()});
    return run_titan(arguments, folder_.string());
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "titan_tokenize_chat";
};

TEST_F(TokenizeChat, PrintsIdPieceAndOrigin) {
  EXPECT_EQ(
      tokenize({"--chat", "chat.json"}).out, "97\t\"a\"\tuser\n256\t\"<e>\"\ttemplate\n");
  EXPECT_EQ(
      tokenize({"--chat", "chat.json", "--tools", "tools.json", "--generation-prompt"})
          .out,
      "97\t\"a\"\tuser\n256\t\"<e>\"\ttemplate\n116\t\"t\"\tsystem\n62\t\">"
      "\"\ttemplate\n");
}

TEST_F(TokenizeChat, RefusesWhatIsNoChat) {
  put("bad.json", {{"role", "user"}});
  const ProcessResult bad = tokenize({"--chat", "bad.json"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("messages: expected a list, got object"), std::string::npos);
  EXPECT_EQ(tokenize({"--tools", "tools.json"}).status, 2);
  EXPECT_EQ(tokenize({"text", "--chat", "chat.json"}).status, 2);
}

}  // namespace
}  // namespace titan::test
