#include "titan/data/parquet.h"

#include <gtest/gtest.h>

#include "titan/data/source_files.h"
#include "titan/data/test_folder.h"

namespace titan::data {
namespace {

#ifdef TITAN_HAS_PARQUET

const std::string kData = TITAN_SOURCE_DIR "/titan/data/testdata/";

class Parquet : public TestFolder {
 protected:
  static std::vector<std::string> records(
      const std::string& name, const std::vector<std::string>& columns) {
    const auto reader = open_parquet(kData + name, columns);
    std::vector<std::string> records;
    for (std::string record; reader->next(record);) {
      records.push_back(record);
      EXPECT_EQ(reader->number(), std::ssize(records));
    }
    return records;
  }

  std::string refusal_of(const SourceConfig& source) const {
    std::string message = refusal([&] { (void)open_sources({source}, {}); });
    const size_t at = message.find(kData);
    return at == std::string::npos ? message : message.erase(at, kData.size());
  }
};

// rows.parquet: three rows in two row groups, made by tools/make_parquet_vectors.py.
TEST_F(Parquet, ReadsTheColumnsThatAreAskedFor) {
  EXPECT_EQ(
      records("rows.parquet", {"text", "none"}),
      (std::vector<std::string>{
          R"({"text":"one"})",
          "{\"text\":\"zw\u00f6lf\\n\\\"3\\\"\"}",
          R"({"text":""})"}));
  EXPECT_EQ(
      records("rows.parquet", {"number", "flag", "large"}),
      (std::vector<std::string>{
          R"({"number":1.5,"flag":true,"large":["a","b"]})",
          R"({"number":null,"flag":false,"large":[]})",
          R"({"number":-2.0,"flag":null,"large":null})"}));
}

TEST_F(Parquet, ReadsChats) {
  EXPECT_EQ(
      records("rows.parquet", {"messages"})[0],
      R"({"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a",)"
      R"("calls":3}]})");
  const std::vector<SourceConfig> sources = {
      {.path = kData + "rows.parquet", .kind = DocumentKind::kChat}};
  const auto files = open_sources(sources, {});
  ASSERT_TRUE(files[0].streamed);
  EXPECT_EQ(files[0].size(), 3);
}

TEST_F(Parquet, NamesWhatIsWrong) {
  EXPECT_EQ(
      refusal_of({.path = kData + "rows.parquet", .text_field = "number"}),
      "rows.parquet:1:1: number: expected a string, got a number");
  EXPECT_EQ(
      refusal_of({.path = kData + "rows.parquet", .text_field = "body"}),
      "rows.parquet:1:1: body: missing, expected a string");
  EXPECT_EQ(
      refusal_of({.path = kData + "rows.parquet", .text_field = "day"}),
      "rows.parquet:1: a value of type date32[day] has no form in JSON");
  const std::string message =
      refusal_of({.path = put("bad.parquet", "this is no Parquet file")});
  EXPECT_TRUE(message.starts_with("bad.parquet:1: ")) << message;
}

#else

TEST(Parquet, SaysThatThisBuildHasNone) {
  try {
    (void)open_parquet("a.parquet", {});
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("a.parquet: this build of titan cannot read Parquet"));
  }
}

#endif

}  // namespace
}  // namespace titan::data
