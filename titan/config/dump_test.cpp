#include "titan/config/dump.h"

#include <limits>

#include <gtest/gtest.h>

#include "titan/config/assign.h"
#include "titan/config/table.h"
#include "titan/config/testdata/expect_error.h"
#include "titan/config/testdata/study.h"

namespace titan::config {
namespace {

using study::Study;

Study unusual() {
  Study config;
  config.model.as<study::Llama>().dim = 12;
  config.train.seed = UINT64_MAX;
  config.train.steps = INT64_MAX;
  config.train.dtype = study::Dtype::kBf16;
  config.train.max_norm = 0.1F;
  config.optimizer.lr = 1.0 / 3.0;
  config.optimizer.betas = {5e-324, 1.7976931348623157e308, -0.0};
  config.optimizer.min_lr = std::numeric_limits<double>::infinity();
  config.data.sources = {{.path = "a\n\"b\""}, {.path = "\xc3\xa9", .field = ""}};
  config.overrides = {"x", ""};
  return config;
}

TEST(Dump, KeepsTheOrderOfDeclaration) {
  EXPECT_EQ(
      dump(Study()).dump(),
      R"({"model":{"type":"llama","dim":256},)"
      R"("train":{"steps":10,"context":2048,"seed":7,"dtype":"fp32","max_norm":1.0,)"
      R"("deterministic":true},)"
      R"("optimizer":{"lr":0.0008,"betas":[0.9,0.95],"min_lr":null},)"
      R"("data":{"sources":[{"path":"a.jsonl","field":"text"}],"shuffle":true},)"
      R"("overrides":[]})");
}

TEST(Dump, LoadsBackToTheSameBits) {
  const Study before = unusual();
  const std::string text = dump(before).dump(2);
  Study after;
  configure(after, {{{.path = "", .value = parse_json(text, "x"), .source = "x"}}});
  EXPECT_EQ(dump(after).dump(2), text);
  EXPECT_EQ(after.train.max_norm, before.train.max_norm);
  EXPECT_EQ(after.optimizer.lr, before.optimizer.lr);
  EXPECT_EQ(after.optimizer.betas, before.optimizer.betas);
  EXPECT_TRUE(std::signbit(after.optimizer.betas[2]));
  EXPECT_EQ(after.optimizer.min_lr, before.optimizer.min_lr);
}

TEST(Dump, AnEmptyListStaysAList) {
  Study config;
  config.data.sources.clear();
  EXPECT_EQ(dump(config)["data"]["sources"], Json::array());
}

TEST(Dump, ElevenGroupsStayInOrder) {
  Study config;
  config.data.sources.assign(11, {.path = "p"});
  config.data.sources[10].path = "last";
  EXPECT_EQ(dump(config)["data"]["sources"].size(), 11U);
  EXPECT_EQ(dump(config)["data"]["sources"][10]["path"], "last");
}

TEST(Dump, AStoredSettingThatIsGoneIsNamed) {
  Json stored = dump(Study());
  stored["train"]["gc_freq"] = 50;
  stored["data"]["sources"][0]["path"] = 1;
  Study config;
  EXPECT_EQ(
      message_of<ConfigError>([&] {
        configure(config, {{{.path = "", .value = stored, .source = "config.json"}}});
      }),
      "config.json: train.gc_freq: no such setting; did you mean \"train.context\"?\n"
      "config.json: data.sources.0.path: expected a string, got 1\n"
      "data.sources.0.path: expected a file name, got \"\"");
}

TEST(Diff, NamesEveryDifferentPath) {
  Study other;
  other.train.steps = 20;
  other.data.sources.push_back({.path = "b"});
  std::vector<std::string> lines;
  for (const Difference& difference : diff(dump(Study()), dump(other))) {
    lines.push_back(describe(difference));
  }
  EXPECT_EQ(
      lines,
      (std::vector<std::string>{
          "train.steps: 10 -> 20",
          "data.sources.1.path: (none) -> \"b\"",
          "data.sources.1.field: (none) -> \"text\""}));
  EXPECT_TRUE(diff(dump(unusual()), dump(unusual())).empty());
}

TEST(Hash, FollowsValuesAndNotOrder) {
  const Json one = {{"a", 1}, {"b", {{"c", 0.5}}}};
  const Json other_order = {{"b", {{"c", 0.5}}}, {"a", 1}};
  EXPECT_EQ(hash(one), hash(other_order));
  // Stored beside checkpoints: must never change.
  EXPECT_EQ(hash(one), "f1ce0e0d5c286068");
  EXPECT_NE(hash(one), hash({{"a", 2}, {"b", {{"c", 0.5}}}}));
  EXPECT_NE(hash(dump(Study())), hash(dump(unusual())));
}

TEST(Table, MarksWhatDiffersFromTheRecipe) {
  study::Optimizer config;
  config.lr = 1e-4;
  EXPECT_EQ(
      values_table(config, study::Optimizer()),
      "*  lr      0.0001      peak learning rate\n"
      "   betas   [0.9,0.95]  decay of the moments\n"
      "   min_lr  null        floor of the schedule\n");
}

TEST(Table, MarksAddedGroups) {
  study::Data recipe;
  study::Data config{.sources = {{.path = "b"}}};
  EXPECT_EQ(
      values_table(config, recipe),
      "   sources                  where documents come from\n"
      "*  sources.0.path   \"b\"     file\n"
      "*  sources.0.field  \"text\"  member that holds the text\n"
      "   shuffle          true\n");
}

TEST(Table, HelpNamesTypesAndDefaults) {
  EXPECT_EQ(
      help_table(study::Optimizer()),
      "lr      number           0.0008      peak learning rate\n"
      "betas   list of numbers  [0.9,0.95]  decay of the moments\n"
      "min_lr  number or null   null        floor of the schedule\n");
}

}  // namespace
}  // namespace titan::config
