#include "titan/data/source.h"

#include <gtest/gtest.h>

#include "titan/data/source_files.h"
#include "titan/data/test_folder.h"

namespace titan::data {
namespace {

using Texts = std::vector<std::string>;

Texts read(
    const std::vector<SourceConfig>& sources, BadRecords bad = BadRecords::kRefuse) {
  Texts texts;
  for (const SourceFile& file : open_sources(sources, {bad, 2, ""})) {
    if (file.indexed) {
      for (int64_t i = 0; i < file.indexed->size(); ++i) {
        texts.push_back(std::get<std::string>(file.indexed->read(i)));
      }
      continue;
    }
    const auto reader = file.streamed->open();
    for (std::string record; reader->next(record);) {
      texts.push_back(std::get<std::string>(file.streamed->parse(record)));
    }
  }
  return texts;
}

class Sources : public TestFolder {
 protected:
  // The error of reading one JSONL file.
  std::string refusal_of(const std::string& content) {
    return refusal_of(SourceConfig{.path = put("bad.jsonl", content)});
  }

  std::string refusal_of(const SourceConfig& source) {
    return refusal([&] { (void)read({source}); });
  }
};

constexpr const char* kOddLines =
    "\xEF\xBB\xBF{\"text\":\"a\"}\r\n\n{\"id\":[1,{\"text\":0}],\"text\":\"b\"}\n  "
    "\t\r\n"
    "{\"text\":\"\\u00e9\\n\"}";

TEST_F(Sources, AcceptsByteOrderMarkCrlfAndBlankLines) {
  const std::string path = put("a.jsonl", kOddLines);
  const Texts expected = {"a", "b", "\u00E9\n"};
  EXPECT_EQ(read({{.path = path}}), expected);
  const std::vector<SourceConfig> sources = {{.path = path}};
  const auto files = open_sources(sources, {});
  EXPECT_EQ(files[0].indexed->where(0), path + ":1");
  EXPECT_EQ(files[0].indexed->where(1), path + ":3");
  EXPECT_EQ(files[0].indexed->where(2), path + ":5");
  EXPECT_EQ(read({{.path = put("a.jsonl.gz", gzip(kOddLines))}}), expected);
  EXPECT_EQ(read({{.path = put("a.jsonl.zst", zstd(kOddLines))}}), expected);
}

TEST_F(Sources, NamesLineAndColumnOfABadLine) {
  EXPECT_EQ(
      refusal_of("{\"text\":\"a\"}\n\n{\"text\":\"c\"}{\"text\":\"d\"}\n"),
      "bad.jsonl:3:13: not valid JSON: syntax error while parsing value - unexpected "
      "'{'; "
      "expected end of input");
  EXPECT_EQ(
      refusal_of("{\"text\":\"\\ud800\"}\n").substr(0, 50),
      "bad.jsonl:1:16: not valid JSON: syntax error while");
  EXPECT_EQ(
      refusal_of("{\"text\":\"a\xFFz\"}\n"),
      "bad.jsonl:1:11: not valid JSON: syntax error while parsing value - invalid "
      "string: "
      "ill-formed UTF-8 byte");
  EXPECT_EQ(
      refusal_of("{\"text\":\"a\"\n"),
      "bad.jsonl:1:12: not valid JSON: syntax error while parsing object - unexpected "
      "end "
      "of input; expected '}'");
}

TEST_F(Sources, NamesTheFieldOfABadLine) {
  EXPECT_EQ(
      refusal_of("{\"text\":\"a\"}\n{\"text\":null}\n"),
      "bad.jsonl:2:1: text: expected a string, got null");
  EXPECT_EQ(
      refusal_of("{\"txt\":\"x\"}\n"), "bad.jsonl:1:1: text: missing, expected a string");
  EXPECT_EQ(
      refusal_of("{\"text\":[\"a\"]}"),
      "bad.jsonl:1:1: text: expected a string, got a list");
  EXPECT_EQ(
      refusal_of("{\"text\":{\"text\":\"a\"}}"),
      "bad.jsonl:1:1: text: expected a string, got an object");
  EXPECT_EQ(
      refusal_of("{\"text\":\"a\",\"text\":\"b\"}").substr(0, 46),
      "bad.jsonl:1:1: member \"text\" occurs twice");
  EXPECT_EQ(
      refusal_of("[1]"), "bad.jsonl:1:1: expected one JSON object a line, got a list");
  EXPECT_EQ(
      refusal_of("\"a\""),
      "bad.jsonl:1:1: expected one JSON object a line, got a string");
}

TEST_F(Sources, ChecksTheMessagesOfAChat) {
  const auto chat_refusal = [&](const std::string& line) {
    return refusal_of({.path = put("bad.jsonl", line), .kind = DocumentKind::kChat});
  };
  EXPECT_EQ(
      chat_refusal("{\"text\":\"a\"}"),
      "bad.jsonl:1:1: messages: missing, expected a list of messages");
  EXPECT_EQ(
      chat_refusal("{\"messages\":\"a\"}"),
      "bad.jsonl:1:1: messages: expected a list of messages, got a string");
  EXPECT_EQ(
      chat_refusal("{\"messages\":[]}"),
      "bad.jsonl:1:1: messages: expected a list of messages, got an empty one");
  EXPECT_EQ(
      chat_refusal("{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"a\":1}]}"),
      "bad.jsonl:1:1: messages.1: expected an object with a role, got one without");
  EXPECT_EQ(
      chat_refusal("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}"),
      "bad.jsonl:1:1: messages: no message of the assistant");
  EXPECT_EQ(
      chat_refusal("{\"messages\":[{\"role\":\"assistant\"}],\"tools\":{}}"),
      "bad.jsonl:1:1: tools: expected a list of tools, got an object");
  EXPECT_EQ(
      chat_refusal("{\"messages\":[{\"role\":\"assistant\",\"role\":\"user\"}]}"),
      "bad.jsonl:1:1: member \"role\" occurs twice");
  EXPECT_EQ(
      refusal_of({.path = put("a.txt", "a"), .kind = DocumentKind::kChat}),
      "a.txt: a text file holds no chat");
}

TEST_F(Sources, ReadsChats) {
  const std::string tools =
      "[{\"type\":\"function\",\"b\":1,\"a\":{\"z\":[],\"y\":-2.5}}]";
  const std::string messages =
      "[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":null}]";
  const std::vector<SourceConfig> sources = {
      {.path =
           put("a.jsonl",
               "{\"id\":{\"messages\":3},\"tools\":" + tools +
                   ",\"messages\":" + messages + ",\"x\":[\"\"]}"),
       .kind = DocumentKind::kChat}};
  const auto files = open_sources(sources, {});
  const Chat chat = std::get<Chat>(files[0].indexed->read(0));
  EXPECT_EQ(chat.messages.dump(), messages);
  EXPECT_EQ(chat.tools.dump(), tools);
}

TEST_F(Sources, ReadsMessagesWithFromAndValue) {
  const std::vector<SourceConfig> sources = {
      {.path =
           put("a.jsonl",
               "{\"conversations\":[{\"from\":\"system\",\"value\":\"s\"},{\"from\":"
               "\"human\","
               "\"value\":\"q\"},{\"from\":\"gpt\",\"value\":\"a\"}]}"),
       .kind = DocumentKind::kChat,
       .messages_field = "conversations"}};
  const auto files = open_sources(sources, {});
  const Chat chat = std::get<Chat>(files[0].indexed->read(0));
  EXPECT_EQ(
      chat.messages.dump(),
      "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"q\"},"
      "{\"role\":\"assistant\",\"content\":\"a\"}]");
  EXPECT_TRUE(chat.tools.is_null());
}

TEST_F(Sources, RefusesEmptyDatasets) {
  EXPECT_EQ(refusal_of(""), "bad.jsonl: the file holds no document");
  EXPECT_EQ(refusal_of("\n \r\n"), "bad.jsonl: the file holds no document");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = put("a.txt", "")}),
      "a.txt: the file holds no document");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = put("a.jsonl.gz", gzip("\n"))}),
      "a.jsonl.gz: the file holds no document");
  EXPECT_THROW((void)read({}), InputError);
}

TEST_F(Sources, ReadsAHugeLine) {
  const std::string text(50'000'000, 'x');
  const std::string content = "{\"text\":\"" + text + "\"}\n{\"text\":\"b\"}\n";
  for (const std::string& path :
       {put("a.jsonl", content), put("a.jsonl.zst", zstd(content))}) {
    const Texts texts = read({{.path = path}});
    ASSERT_EQ(texts.size(), 2);
    EXPECT_TRUE(texts[0] == text);
  }
  // And does not print it back where it is broken.
  EXPECT_LT(refusal_of("{\"text\":\"" + text + "\n").size(), 200);
}

TEST_F(Sources, ReadsAnotherField) {
  const std::string path = put("a.jsonl", "{\"text\":\"a\",\"body\":\"b\"}");
  EXPECT_EQ(read({{.path = path, .text_field = "body"}}), (Texts{"b"}));
}

TEST_F(Sources, ATextFileIsOneDocument) {
  const std::string path = put("a.txt", "\xEF\xBB\xBFone\n\ntwo\n");
  EXPECT_EQ(read({{.path = path}}), (Texts{"one\n\ntwo\n"}));
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = put("b.txt", "one\ntwo\xFF")}),
      "b.txt:2:4: not UTF-8");
}

TEST_F(Sources, FoldersAndGlobsAreSorted) {
  fs::create_directories(folder_ / "sub");
  put("b.jsonl", "{\"text\":\"b1\"}\n{\"text\":\"b2\"}\n");
  put("a.txt", "a");
  put("c.json", "{\"text\":\"c\"}");
  put("d.jsonl.gz", gzip("{\"text\":\"d\"}"));
  put("README.md", "not data");
  put("e.txt.gz", "not read");
  const std::string folder = folder_.string();
  EXPECT_EQ(read({{.path = folder}}), (Texts{"a", "b1", "b2", "c", "d"}));
  EXPECT_EQ(
      read({{.path = folder, .format = DocumentFormat::kJsonl}}),
      (Texts{"b1", "b2", "c", "d"}));
  EXPECT_EQ(
      read({{.path = folder + "/[bc].json*"}, {.path = folder + "/a.txt"}}),
      (Texts{"b1", "b2", "c", "a"}));
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = folder + "/*.parquet"}),
      "*.parquet: no file matches");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = folder + "/s?b"}),
      "s?b: matches sub, which is not a file");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = folder + "/sub"}),
      "sub: the folder has no file to read documents from");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = folder + "/none"}), "none: no such file or folder");
  EXPECT_EQ(
      refusal_of(SourceConfig{.path = folder + "/README.md"}),
      "README.md: the ending does not tell the format; set the source's format");
}

TEST_F(Sources, TheFingerprintTellsDatasetsApart) {
  const std::string lines = "{\"text\":\"aa\"}\n{\"text\":\"b\"}\n";
  const std::string swapped = "{\"text\":\"b\"}\n{\"text\":\"aa\"}\n";
  const auto fingerprint = [&](const std::string& path) {
    const std::vector<SourceConfig> sources = {{.path = path}};
    const auto files = open_sources(sources, {});
    return files[0].indexed ? files[0].indexed->fingerprint()
                            : files[0].streamed->fingerprint();
  };
  const uint64_t expected = fingerprint(put("a.jsonl", lines));
  EXPECT_EQ(fingerprint(put("b.jsonl", lines)), expected);
  EXPECT_NE(fingerprint(put("c.jsonl", swapped)), expected);
  EXPECT_EQ(fingerprint(put("d.jsonl.gz", gzip(lines))), expected);
}

// Field case P11: everything odd in one file is either accepted, refused with its place
// before training, or skipped if asked, with a count.
TEST_F(Sources, P11JsonlOddities) {
  const std::string good = "\xEF\xBB\xBF{\"text\":\"a\"}\r\n\n{\"text\":\"b\"}\n   \n";
  EXPECT_EQ(read({{.path = put("good.jsonl", good)}}), (Texts{"a", "b"}));
  EXPECT_TRUE(refusal_of(good + "{\"text\":\"c\"}{\"text\":\"d\"}")
                  .starts_with("bad.jsonl:5:13: not valid JSON"));
  std::string all = good;
  for (const char* line :
       {"{\"text\":\"c\"}{\"text\":\"d\"}",
        "{\"text\":\"\\ud800\"}",
        "{\"text\":\"a\xFF\"}",
        "{\"text\":null}",
        "{\"txt\":\"x\"}"}) {
    EXPECT_TRUE(refusal_of(good + line).starts_with("bad.jsonl:5:")) << line;
    all += std::string(line) + "\n";
  }
  all += "{\"text\":\"e\"}";
  for (const std::string& path :
       {put("all.jsonl", all),
        put("all.jsonl.gz", gzip(all)),
        put("all.jsonl.zst", zstd(all))}) {
    EXPECT_EQ(read({{.path = path}}, BadRecords::kSkip), (Texts{"a", "b", "e"})) << path;
    const std::vector<SourceConfig> sources = {{.path = path}};
    EXPECT_EQ(open_sources(sources, {BadRecords::kSkip})[0].num_bad, 5) << path;
  }
  // Nothing but bad records is as good as nothing.
  EXPECT_EQ(
      refusal(
          [&] { (void)read({{.path = put("bad.jsonl", "{}\n")}}, BadRecords::kSkip); }),
      "bad.jsonl: the file holds no document");
}

TEST_F(Sources, ReadsSeveralGzipMembersAndZstandardFrames) {
  const std::string first = "{\"text\":\"a\"}\n{\"te";
  const std::string second = "xt\":\"b\"}\n";
  EXPECT_EQ(
      read({{.path = put("a.jsonl.gz", gzip(first) + gzip("") + gzip(second))}}),
      (Texts{"a", "b"}));
  EXPECT_EQ(
      read({{.path = put("a.jsonl.zst", zstd(first) + zstd("") + zstd(second))}}),
      (Texts{"a", "b"}));
}

TEST_F(Sources, RefusesDamagedCompression) {
  const std::string lines = jsonl({"one", "two", std::string(1000, 'x')});
  for (const char* ending : {".gz", ".zst"}) {
    const std::string name = std::string("a.jsonl") + ending;
    const std::string whole = name == "a.jsonl.gz" ? gzip(lines) : zstd(lines);
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string message =
          refusal_of(SourceConfig{.path = put(name, whole.substr(0, size))});
      const bool named = message.find("end early") != std::string::npos ||
                         message.find("holds no document") != std::string::npos;
      EXPECT_TRUE(message.starts_with(name) && named) << size << ": " << message;
    }
    std::string damaged = whole;
    damaged[0] ^= 0x55;
    EXPECT_TRUE(refusal_of(SourceConfig{.path = put(name, damaged)})
                    .starts_with(name + ": not valid"));
    EXPECT_TRUE(refusal_of(SourceConfig{.path = put(name, whole + "garbage")})
                    .starts_with(name + ": not valid"));
  }
}

}  // namespace
}  // namespace titan::data
