#include "titan/config/config_file.h"

#include <cmath>

#include <gtest/gtest.h>

#include "titan/config/testdata/expect_error.h"
#include "titan/config/testdata/study.h"

namespace titan::config {
namespace {

using study::Study;

// Writes `text` to a file called `name` and returns its path.
fs::path file(const std::string& name, std::string_view text) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_config_file_test";
  fs::create_directories(folder);
  write_file_atomic(folder / name, text);
  return folder / name;
}

TEST(ConfigFile, TomlTablesAreDottedPaths) {
  Study config;
  configure(config, read_config_file(file("run.toml", R"(overrides = ["a=b"]
[train]
steps = 20
dtype = "bf16"
max_norm = inf
[optimizer]
betas = [0.5, 1]
[[data.sources]]
path = "x"
[[data.sources]]
path = "y"
field = "f"
)")));
  EXPECT_EQ(config.train.steps, 20);
  EXPECT_EQ(config.train.dtype, study::Dtype::kBf16);
  EXPECT_TRUE(std::isinf(config.train.max_norm));
  EXPECT_EQ(config.optimizer.betas, (std::vector<double>{0.5, 1.0}));
  ASSERT_EQ(config.data.sources.size(), 2U);
  EXPECT_EQ(config.data.sources[1].field, "f");
  EXPECT_EQ(config.overrides, std::vector<std::string>{"a=b"});
}

TEST(ConfigFile, TomlErrorsNameFileAndLine) {
  const fs::path path =
      file("bad.toml", "[train]\nsteps = \"x\"\nstep = 3\n[optimiser]\n");
  Study config;
  EXPECT_EQ(
      message_of<ConfigError>([&] { configure(config, read_config_file(path)); }),
      fmt::format(
          "{0}:4: optimiser: no such setting; did you mean \"optimizer\"?\n"
          "{0}:3: train.step: no such setting; did you mean \"train.steps\"?\n"
          "{0}:2: train.steps: expected an integer, got \"x\"",
          path.string()));
}

TEST(ConfigFile, TomlTextIsNotReadAsJson) {
  const fs::path path = file("text.toml", "train.steps = \"20\"\n");
  Study config;
  EXPECT_EQ(
      message_of<ConfigError>([&] { configure(config, read_config_file(path)); }),
      path.string() + ":1: train.steps: expected an integer, got \"20\"");
}

TEST(ConfigFile, TomlSyntaxErrorNamesTheLine) {
  const fs::path path = file("syntax.toml", "a = 1\nb = = 2\n");
  EXPECT_TRUE(message_of<FormatError>([&] {
                (void)read_config_file(path);
              }).starts_with(path.string() + ":2: not valid TOML: "));
  const fs::path date = file("date.toml", "a = 2026-01-01\n");
  EXPECT_EQ(
      message_of<FormatError>([&] { (void)read_config_file(date); }),
      date.string() + ":1: expected a string, number, list or table, got a date or time");
}

TEST(ConfigFile, JsonHasTheSameRules) {
  Study config;
  configure(
      config,
      read_config_file(file("run.json", R"({"train":{"steps":20},"optimizer.lr":1})")));
  EXPECT_EQ(config.train.steps, 20);
  const fs::path path = file("bad.json", R"({"train":{"step":1},"data":[]})");
  EXPECT_EQ(
      message_of<ConfigError>([&] { configure(config, read_config_file(path)); }),
      fmt::format(
          "{0}: train.step: no such setting; did you mean \"train.steps\"?\n"
          "{0}: data: is a group of settings; name one of sources, shuffle",
          path.string()));
  const fs::path list = file("list.json", "[1]");
  EXPECT_EQ(
      message_of<ConfigError>([&] { configure(config, read_config_file(list)); }),
      list.string() +
          ": is a group of settings; name one of model, train, optimizer, data, "
          "overrides");
}

TEST(ConfigFile, OtherNamesAreRefused) {
  EXPECT_EQ(
      message_of<InputError>([] { (void)read_config_file("run.yaml"); }),
      "run.yaml: expected a file named .toml or .json");
  EXPECT_EQ(
      message_of<InputError>([] { (void)read_config_file("none.toml"); }),
      "none.toml: cannot open: No such file or directory");
}

}  // namespace
}  // namespace titan::config
