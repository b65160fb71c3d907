#include "titan/config/assign.h"

#include <cmath>

#include <gtest/gtest.h>

#include "titan/config/testdata/expect_error.h"
#include "titan/config/testdata/study.h"

namespace titan::config {
namespace {

using study::Study;

Study with(const std::vector<std::string>& overrides) {
  Study config;
  configure(config, parse_overrides(overrides));
  return config;
}

std::string refusal(const std::vector<std::string>& overrides) {
  return message_of<ConfigError>([&] { (void)with(overrides); });
}

TEST(Assign, SetsEveryKindOfLeaf) {
  const Study config = with(
      {"train.steps=20",
       "train.seed=18446744073709551615",
       "train.dtype=bf16",
       "train.max_norm=0.5",
       "train.deterministic=false",
       "optimizer.lr=1e-4",
       "optimizer.betas=[0.8, 1]",
       "optimizer.min_lr=0.125",
       "data.sources.0.path=b=c.jsonl",
       "overrides=[\"layers.*.ffn=fast\"]",
       "model.dim=512"});
  EXPECT_EQ(config.train.steps, 20);
  EXPECT_EQ(config.train.seed, UINT64_MAX);
  EXPECT_EQ(config.train.dtype, study::Dtype::kBf16);
  EXPECT_EQ(config.train.max_norm, 0.5F);
  EXPECT_FALSE(config.train.deterministic);
  EXPECT_EQ(config.optimizer.lr, 1e-4);
  EXPECT_EQ(config.optimizer.betas, (std::vector<double>{0.8, 1.0}));
  EXPECT_EQ(config.optimizer.min_lr, 0.125);
  EXPECT_EQ(config.data.sources.at(0).path, "b=c.jsonl");
  EXPECT_EQ(config.overrides, std::vector<std::string>{"layers.*.ffn=fast"});
  EXPECT_EQ(config.model.as<study::Llama>().dim, 512);
}

TEST(Assign, TextFitsTheSetting) {
  EXPECT_EQ(with({"data.sources.0.path=123"}).data.sources[0].path, "123");
  EXPECT_EQ(with({"data.sources.0.path=true"}).data.sources[0].path, "true");
  EXPECT_EQ(with({"data.sources.0.path=\"123\""}).data.sources[0].path, "123");
  EXPECT_EQ(with({"data.sources.0.path=[x"}).data.sources[0].path, "[x");
  EXPECT_EQ(with({"data.sources.0.field="}).data.sources[0].field, "");
  EXPECT_EQ(with({"train.dtype=\"bf16\""}).train.dtype, study::Dtype::kBf16);
  EXPECT_EQ(with({"train.steps=1e3"}).train.steps, 1000);
  EXPECT_TRUE(std::isinf(with({"train.max_norm=Infinity"}).train.max_norm));
  EXPECT_EQ(
      with({"optimizer.min_lr=1", "optimizer.min_lr=null"}).optimizer.min_lr,
      std::nullopt);
}

TEST(Assign, TheLastAssignmentWins) {
  EXPECT_EQ(with({"train.steps=1", "train.steps=2"}).train.steps, 2);
}

TEST(Assign, WrongTypesNameExpectedAndGot) {
  EXPECT_EQ(refusal({"train.steps=x"}), "train.steps: expected an integer, got \"x\"");
  EXPECT_EQ(refusal({"train.steps=1.5"}), "train.steps: expected an integer, got 1.5");
  EXPECT_EQ(
      refusal({"train.steps=99999999999999999999"}),
      "train.steps: expected an integer, got 1e+20");
  EXPECT_EQ(
      refusal({"train.context=2147483648"}),
      "train.context: expected an integer from -2147483648 to 2147483647, got "
      "2147483648");
  EXPECT_EQ(
      refusal({"train.seed=-1"}),
      "train.seed: expected an integer from 0 to 18446744073709551615, got -1");
  EXPECT_EQ(
      refusal({"train.deterministic=1"}),
      "train.deterministic: expected true|false, got 1");
  EXPECT_EQ(
      refusal({"train.dtype=fp16"}), "train.dtype: expected fp32|bf16, got \"fp16\"");
  EXPECT_EQ(
      refusal({"optimizer.lr=\"1\""}), "optimizer.lr: expected a number, got \"1\"");
  EXPECT_EQ(
      refusal({"optimizer.betas=0.9,0.95"}),
      "optimizer.betas: expected a list of numbers, got \"0.9,0.95\"");
  EXPECT_EQ(
      refusal({"optimizer.betas=[0.9,\"x\"]"}),
      "optimizer.betas: expected a number, got \"x\"");
  EXPECT_EQ(
      refusal({"optimizer.min_lr=low"}),
      "optimizer.min_lr: expected a number, got \"low\"");
}

TEST(Assign, TextMeantAsJsonSaysWhyItIsNone) {
  EXPECT_TRUE(refusal({"data.sources=[{path:1}]"})
                  .starts_with("data.sources: expected a list of groups, got "
                               "\"[{path:1}]\" (value:1:3: not valid JSON"));
}

TEST(Assign, BytesThatAreNotUtf8AreRefused) {
  EXPECT_TRUE(refusal({"data.sources.0.path=a\xff"})
                  .starts_with("data.sources.0.path: expected a string in UTF-8, got "));
}

TEST(Assign, UnknownPathNamesTheNearest) {
  EXPECT_EQ(
      refusal({"train.step=1"}),
      "train.step: no such setting; did you mean \"train.steps\"?");
  EXPECT_EQ(refusal({"lr=1"}), "lr: no such setting; did you mean \"optimizer.lr\"?");
  EXPECT_EQ(
      refusal({"optimiser.lr=1"}),
      "optimiser.lr: no such setting; did you mean \"optimizer.lr\"?");
  EXPECT_EQ(
      refusal({"optimiser={\"lr\":1}"}),
      "optimiser: no such setting; did you mean \"optimizer\"?");
  EXPECT_EQ(
      refusal({"train.steps.x=1"}),
      "train.steps.x: no such setting; did you mean \"train.steps\"?");
  EXPECT_EQ(
      refusal({"data.sources.1.path=x"}),
      "data.sources.1.path: no such setting; did you mean \"data.sources.0.path\"?");
}

TEST(Assign, AGroupIsNotASetting) {
  EXPECT_EQ(
      refusal({"optimizer=adamw"}),
      "optimizer: is a group of settings; name one of lr, betas, min_lr");
  EXPECT_EQ(
      refusal({"data=1"}), "data: is a group of settings; name one of sources, shuffle");
  EXPECT_EQ(with({"optimizer={\"lr\":1}"}).optimizer.lr, 1.0);
}

TEST(Assign, AnArrayReplacesAListOfGroups) {
  const Study config = with(
      {"data.sources.0.field=body",
       "data.sources=[{\"path\":\"x\"},{\"path\":\"y\",\"field\":\"f\"}]",
       "data.sources.1.path=z"});
  ASSERT_EQ(config.data.sources.size(), 2U);
  EXPECT_EQ(config.data.sources[0].path, "x");
  EXPECT_EQ(config.data.sources[0].field, "text");
  EXPECT_EQ(config.data.sources[1].path, "z");
  EXPECT_EQ(config.data.sources[1].field, "f");
  EXPECT_TRUE(with({"data.sources=[]"}).data.sources.empty());
  EXPECT_EQ(
      refusal({"data.sources=[{\"path\":\"a\"},{\"pat\":\"b\",\"path\":3},5]"}),
      "data.sources.1.pat: no such setting; did you mean \"data.sources.1.path\"?\n"
      "data.sources.1.path: expected a string, got 3\n"
      "data.sources.2: is a group of settings; name one of path, field\n"
      "data.sources.1.path: expected a file name, got \"\"\n"
      "data.sources.2.path: expected a file name, got \"\"");
}

TEST(Assign, TheTypeOfAModelIsFixed) {
  EXPECT_EQ(with({"model.type=llama"}).model.type(), "llama");
  EXPECT_EQ(
      refusal({"model.type=qwen", "model.heads=2"}),
      "model.type: expected llama, got \"qwen\"\n"
      "model.heads: no such setting; did you mean \"model.dim\"?");
}

TEST(Assign, AllProblemsComeTogetherAndNothingIsChanged) {
  Study config;
  const std::vector<std::string> overrides = {
      "train.steps=0", "train.dtype=fp8", "optimizer.lr=1", "model.dim=3", "nope=1"};
  EXPECT_EQ(
      message_of<ConfigError>([&] { configure(config, parse_overrides(overrides)); }),
      "train.dtype: expected fp32|bf16, got \"fp8\"\n"
      "nope: no such setting; did you mean \"model\"?\n"
      "model.dim: expected an even number, got 3\n"
      "train.steps: expected > 0, got 0");
  EXPECT_EQ(config.train.steps, 10);
  EXPECT_EQ(config.optimizer.lr, 8e-4);
}

TEST(Assign, TextWithoutPathOrValueIsRefused) {
  const std::vector<std::string> texts = {"train.steps", "=3", "a=1"};
  EXPECT_EQ(
      message_of<ConfigError>([&] { (void)parse_overrides(texts); }),
      "expected path=value, got \"train.steps\"\nexpected path=value, got \"=3\"");
}

}  // namespace
}  // namespace titan::config
