#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/base/nearest.h"
#include "titan/base/registry.h"
#include "titan/base/rng.h"

namespace titan {
namespace {

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_base_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

template <class Kind, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing of the expected kind was thrown";
  return "";
}

TEST(Error, UserErrorsExitWithTwoOthersWithOne) {
  EXPECT_EQ(exit_status(ConfigError("x")), 2);
  EXPECT_EQ(exit_status(InputError("x")), 2);
  EXPECT_EQ(exit_status(FormatError("x")), 2);
  EXPECT_EQ(exit_status(EnvironmentError("x")), 1);
  EXPECT_EQ(exit_status(std::runtime_error("x")), 1);
}

TEST(Files, MissingFileNamesPathAndReason) {
  const std::string message =
      message_of<InputError>([] { (void)read_file("/nonexistent/titan"); });
  EXPECT_EQ(message, "/nonexistent/titan: cannot open: No such file or directory");
}

TEST(Files, AtomicWriteReplacesTheWholeFile) {
  const fs::path folder = scratch("atomic");
  write_file_atomic(folder / "a", "first");
  write_file_atomic(folder / "a", "2nd");
  EXPECT_EQ(read_file(folder / "a"), "2nd");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(Files, FullDeviceIsAnEnvironmentError) {
  OutputFile file("/dev/full");
  const std::string message = message_of<EnvironmentError>([&] { file.write("x"); });
  EXPECT_EQ(message, "/dev/full: cannot write: No space left on device");
}

TEST(Files, EmptyFileMapsToAnEmptySpan) {
  const fs::path path = scratch("map") / "empty";
  std::ofstream(path).close();
  EXPECT_TRUE(MappedFile(path).bytes().empty());
}

TEST(Files, ForgottenPagesReadTheSameAgain) {
  const fs::path path = scratch("forget") / "pages";
  std::string text(20000, 'a');
  text[9000] = 'b';
  std::ofstream(path) << text;
  const MappedFile file(path);
  file.forget(file.bytes().subspan(1, 19000));
  EXPECT_EQ(file.bytes()[9000], std::byte{'b'});
  EXPECT_EQ(file.bytes()[0], std::byte{'a'});
}

TEST(Files, SecondLockIsRefusedUntilTheFirstIsGone) {
  const fs::path path = scratch("lock") / "lock";
  {
    const FileLock held(path, "run folder");
    const std::string message =
        message_of<EnvironmentError>([&] { FileLock second(path, "run folder"); });
    EXPECT_TRUE(message.starts_with("run folder: in use by another process, id "))
        << message;
  }
  EXPECT_NO_THROW(FileLock(path, "run folder"));
}

TEST(Json, SyntaxErrorHasLineAndColumn) {
  const std::string message =
      message_of<FormatError>([] { (void)parse_json("{\n  \"a\": ,\n}", "c.json"); });
  EXPECT_TRUE(message.starts_with("c.json:2:8: not valid JSON")) << message;
}

TEST(Json, DuplicateMemberIsRefused) {
  EXPECT_EQ(
      message_of<FormatError>([] { (void)parse_json(R"({"a":1,"a":2})", "x"); }),
      "x: not valid JSON: member \"a\" occurs twice");
  EXPECT_NO_THROW((void)parse_json(R"({"a":{"b":1},"b":{"b":2}})", "x"));
}

TEST(Json, NumbersBeyondDoubleAreRefused) {
  EXPECT_THROW((void)parse_json("[1e999]", "x"), FormatError);
}

TEST(Json, WrongTypeNamesExpectedAndGot) {
  const Json object = {{"n", "seven"}, {"x", nullptr}};
  EXPECT_EQ(
      message_of<FormatError>([&] { (void)json_get<int64_t>(object, "n", "f"); }),
      "f: n: expected an integer, got \"seven\"");
  EXPECT_EQ(json_get<int64_t>(object, "x", "f", 5), 5);
  EXPECT_EQ(
      message_of<FormatError>([&] { (void)json_get<bool>(object, "y", "f"); }),
      "f: y: missing, expected true or false");
}

TEST(Json, ExactNumberReadsBackToTheSameBits) {
  for (const double value : {0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0}) {
    EXPECT_EQ(std::strtod(exact_number(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(exact_number(std::nan("")), "NaN");
}

TEST(Rng, PhiloxMatchesThePublishedVectors) {
  // Known-answer vectors of the Random123 distribution for philox4x32-10.
  EXPECT_EQ(
      philox({0, 0, 0, 0}, 0),
      (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, UINT64_MAX),
      (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
      (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, NormalHasTheRightMomentsAndIgnoresLength) {
  std::vector<float> values(100001);
  Rng(7, "weights").fill_normal(values, 1.0F, 2.0F);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / values.size();
  double square = 0;
  for (const float v : values) {
    square += (v - mean) * (v - mean);
  }
  EXPECT_NEAR(mean, 1.0, 0.03);
  EXPECT_NEAR(std::sqrt(square / values.size()), 2.0, 0.03);
  std::vector<float> prefix(5);
  Rng(7, "weights").fill_normal(prefix, 1.0F, 2.0F);
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), values.begin()));
}

TEST(Rng, BelowCoversItsRangeEvenly) {
  Rng rng(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) {
    ++counts.at(rng.next_below(7));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 10000, 400);
  }
}

TEST(Nearest, FindsTheTypo) {
  const std::vector<std::string> known = {"train.steps", "train.context", "optimizer.lr"};
  EXPECT_EQ(nearest_name("train.step", known), "train.steps");
  EXPECT_EQ(nearest_name("optimiser.lr", known), "optimizer.lr");
}

TEST(Nearest, GlobMatchesWholeText) {
  EXPECT_TRUE(glob_match("layers.*.ffn", "layers.12.ffn"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("layers.?.*", "layers.3.ffn.w1"));
  EXPECT_FALSE(glob_match("layers.?.ffn", "layers.12.ffn"));
  EXPECT_FALSE(glob_match("layers.*.ffn", "layers.12.ffn.w1"));
}

TEST(Registry, UnknownNameOffersTheNearest) {
  Registry<int> registry("recipe");
  registry.add("llama3_debug", 1);
  registry.add("qwen3_debug", 2);
  EXPECT_EQ(registry.at("qwen3_debug"), 2);
  EXPECT_EQ(
      message_of<ConfigError>([&] { (void)registry.at("lama3_debug"); }),
      "no recipe called \"lama3_debug\"; did you mean \"llama3_debug\"?");
  EXPECT_THROW(registry.add("llama3_debug", 3), ConfigError);
}

}  // namespace
}  // namespace titan
