#include "titan/data/source.h"

#include <fstream>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan::data {
namespace {

using Texts = std::vector<std::string>;

class Sources : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "sub");
  }

  std::string put(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  static Texts read(const std::vector<SourceConfig>& sources) {
    const Documents documents(sources);
    Texts texts;
    for (int64_t i = 0; i < documents.size(); ++i) {
      texts.push_back(documents.text(i));
    }
    return texts;
  }

  // The error of reading one JSONL file, without the folder.
  std::string refusal(const std::string& content) {
    return refusal(SourceConfig{.path = put("bad.jsonl", content)});
  }

  std::string refusal(const SourceConfig& source) {
    try {
      (void)Documents({source});
    } catch (const Error& error) {
      std::string message = error.what();
      for (size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
        message.erase(at, folder_.string().size() + 1);
      }
      return message;
    }
    return "no error";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "sources";
};

TEST_F(Sources, AcceptsByteOrderMarkCrlfAndBlankLines) {
  const std::string path =
      put("a.jsonl",
          "\xEF\xBB\xBF{\"text\":\"a\"}\r\n\n{\"id\":[1,{\"text\":0}],\"text\":\"b\"}\n  "
          "\t\r\n"
          "{\"text\":\"\\u00e9\\n\"}");
  EXPECT_EQ(read({{.path = path}}), (Texts{"a", "b", "\u00E9\n"}));
  const Documents documents({{.path = path}});
  EXPECT_EQ(documents.where(0), path + ":1");
  EXPECT_EQ(documents.where(1), path + ":3");
  EXPECT_EQ(documents.where(2), path + ":5");
}

TEST_F(Sources, NamesLineAndColumnOfABadLine) {
  EXPECT_EQ(
      refusal("{\"text\":\"a\"}\n\n{\"text\":\"c\"}{\"text\":\"d\"}\n"),
      "bad.jsonl:3:13: not valid JSON: syntax error while parsing value - unexpected "
      "'{'; "
      "expected end of input");
  EXPECT_EQ(
      refusal("{\"text\":\"\\ud800\"}\n").substr(0, 50),
      "bad.jsonl:1:16: not valid JSON: syntax error while");
  EXPECT_EQ(
      refusal("{\"text\":\"a\xFFz\"}\n"),
      "bad.jsonl:1:11: not valid JSON: syntax error while parsing value - invalid "
      "string: "
      "ill-formed UTF-8 byte");
  EXPECT_EQ(
      refusal("{\"text\":\"a\"\n"),
      "bad.jsonl:1:12: not valid JSON: syntax error while parsing object - unexpected "
      "end "
      "of input; expected '}'");
}

TEST_F(Sources, NamesTheFieldOfABadLine) {
  EXPECT_EQ(
      refusal("{\"text\":\"a\"}\n{\"text\":null}\n"),
      "bad.jsonl:2:1: text: expected a string, got null");
  EXPECT_EQ(
      refusal("{\"txt\":\"x\"}\n"), "bad.jsonl:1:1: text: missing, expected a string");
  EXPECT_EQ(
      refusal("{\"text\":[\"a\"]}"),
      "bad.jsonl:1:1: text: expected a string, got a list");
  EXPECT_EQ(
      refusal("{\"text\":{\"text\":\"a\"}}"),
      "bad.jsonl:1:1: text: expected a string, got an object");
  EXPECT_EQ(
      refusal("{\"text\":\"a\",\"text\":\"b\"}"),
      "bad.jsonl:1:1: member \"text\" occurs twice");
  EXPECT_EQ(refusal("[1]"), "bad.jsonl:1:1: expected one JSON object a line, got a list");
  EXPECT_EQ(
      refusal("\"a\""), "bad.jsonl:1:1: expected one JSON object a line, got a string");
}

TEST_F(Sources, RefusesEmptyDatasets) {
  EXPECT_EQ(refusal(""), "bad.jsonl: the file holds no document");
  EXPECT_EQ(refusal("\n \r\n"), "bad.jsonl: the file holds no document");
  EXPECT_EQ(
      refusal(SourceConfig{.path = put("a.txt", "")}),
      "a.txt: the file holds no document");
  EXPECT_THROW((void)Documents({}), InputError);
}

TEST_F(Sources, ReadsAHugeLine) {
  std::string text(50'000'000, 'x');
  const std::string path =
      put("a.jsonl", "{\"text\":\"" + text + "\"}\n{\"text\":\"b\"}\n");
  const Documents documents({{.path = path}});
  ASSERT_EQ(documents.size(), 2);
  EXPECT_TRUE(documents.text(0) == text);
  // And does not print it back where it is broken.
  EXPECT_LT(refusal("{\"text\":\"" + text + "\n").size(), 200);
}

TEST_F(Sources, ReadsAnotherField) {
  const std::string path = put("a.jsonl", "{\"text\":\"a\",\"body\":\"b\"}");
  EXPECT_EQ(read({{.path = path, .text_field = "body"}}), (Texts{"b"}));
}

TEST_F(Sources, ATextFileIsOneDocument) {
  const std::string path = put("a.txt", "\xEF\xBB\xBFone\n\ntwo\n");
  EXPECT_EQ(read({{.path = path}}), (Texts{"one\n\ntwo\n"}));
  EXPECT_EQ(
      refusal(SourceConfig{.path = put("b.txt", "one\ntwo\xFF")}),
      "b.txt:2:4: not UTF-8");
}

TEST_F(Sources, FoldersAndGlobsAreSorted) {
  put("b.jsonl", "{\"text\":\"b1\"}\n{\"text\":\"b2\"}\n");
  put("a.txt", "a");
  put("c.json", "{\"text\":\"c\"}");
  put("README.md", "not data");
  const std::string folder = folder_.string();
  EXPECT_EQ(read({{.path = folder}}), (Texts{"a", "b1", "b2", "c"}));
  EXPECT_EQ(
      read({{.path = folder, .format = DocumentFormat::kJsonl}}),
      (Texts{"b1", "b2", "c"}));
  EXPECT_EQ(
      read({{.path = folder + "/[bc].json*"}, {.path = folder + "/a.txt"}}),
      (Texts{"b1", "b2", "c", "a"}));
  EXPECT_EQ(
      refusal(SourceConfig{.path = folder + "/*.parquet"}), "*.parquet: no file matches");
  EXPECT_EQ(
      refusal(SourceConfig{.path = folder + "/s?b"}),
      "s?b: matches sub, which is not a file");
  EXPECT_EQ(
      refusal(SourceConfig{.path = folder + "/sub"}),
      "sub: the folder has no file to read documents from");
  EXPECT_EQ(
      refusal(SourceConfig{.path = folder + "/none"}), "none: no such file or folder");
  EXPECT_EQ(
      refusal(SourceConfig{.path = folder + "/README.md"}),
      "README.md: the ending does not tell the format; set the source's format to jsonl "
      "or "
      "text");
}

TEST_F(Sources, TheFingerprintTellsDatasetsApart) {
  const SourceConfig a{.path = put("a.jsonl", "{\"text\":\"aa\"}\n{\"text\":\"b\"}\n")};
  const SourceConfig b{.path = put("b.jsonl", "{\"text\":\"b\"}\n{\"text\":\"aa\"}\n")};
  EXPECT_EQ(Documents({a}).fingerprint(), Documents({a}).fingerprint());
  EXPECT_NE(Documents({a}).fingerprint(), Documents({b}).fingerprint());
  EXPECT_NE(Documents({a}).fingerprint(), Documents({a, a}).fingerprint());
}

}  // namespace
}  // namespace titan::data
