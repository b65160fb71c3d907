#include "titan/config/any_config.h"

#include <gtest/gtest.h>

#include "titan/config/testdata/expect_error.h"
#include "titan/config/testdata/study.h"

namespace titan::config {
namespace {

using study::Llama;
using study::Qwen;

TEST(AnyConfig, CopiesAreIndependent) {
  AnyConfig first = Llama{.dim = 64};
  AnyConfig second = first;
  second.as<Llama>().dim = 8;
  EXPECT_EQ(first.as<Llama>().dim, 64);
  first = second;
  first.as<Llama>().dim = 2;
  EXPECT_EQ(second.as<Llama>().dim, 8);
}

TEST(AnyConfig, KnowsItsType) {
  AnyConfig config = Qwen{};
  EXPECT_EQ(config.type(), "qwen");
  EXPECT_NE(config.find<Qwen>(), nullptr);
  EXPECT_EQ(std::as_const(config).find<Llama>(), nullptr);
  EXPECT_EQ(
      message_of<ConfigError>([&] { (void)config.as<Llama>(); }),
      "expected a config of type llama, got qwen");
  config = Llama{};
  EXPECT_EQ(config.type(), "llama");
}

TEST(AnyConfig, ListsItsTypeAndItsMembers) {
  study::Study config;
  const std::vector<Field> fields = list_fields(config);
  EXPECT_EQ(fields[0].path, "model.type");
  EXPECT_EQ(fields[0].get(), "llama");
  EXPECT_EQ(fields[1].path, "model.dim");
  fields[1].set(32);
  EXPECT_EQ(config.model.as<Llama>().dim, 32);
}

TEST(AnyConfig, AnEmptyOneHasNoSettings) {
  study::Study config;
  config.model = AnyConfig();
  EXPECT_EQ(config.model.type(), "");
  EXPECT_EQ(list_fields(config)[0].path, "train.steps");
  EXPECT_NO_THROW(check(config));
  EXPECT_EQ(
      message_of<ConfigError>([&] { (void)config.model.as<Llama>(); }),
      "expected a config of type llama, got none");
}

TEST(AnyConfig, ChecksWhatItHolds) {
  EXPECT_EQ(
      message_of<ConfigError>([] { check(AnyConfig(Llama{.dim = 3})); }),
      "dim: expected an even number, got 3");
}

}  // namespace
}  // namespace titan::config
