#include "titan/config/recipe.h"

#include <gtest/gtest.h>

#include "titan/config/any_config.h"
#include "titan/config/plugin.h"
#include "titan/config/testdata/expect_error.h"
#include "titan/config/testdata/study.h"

namespace titan::config {
namespace {

using study::Llama;

const RegisterRecipe<Llama> registered("llama_test", "for the test", [] {
  return Llama{.dim = 16};
});

fs::path plugin(const std::string& name) {
  return fs::path(TITAN_TEST_PLUGINS) / ("libtitan_config_" + name + ".so");
}

TEST(Recipe, RegistersItselfByName) {
  const Recipe<Llama>& recipe = recipes<Llama>().at("llama_test");
  EXPECT_EQ(recipe.description, "for the test");
  EXPECT_EQ(recipe.make().dim, 16);
  EXPECT_EQ(recipes<study::Qwen>().find("llama_test"), nullptr);
  EXPECT_EQ(
      message_of<ConfigError>([] { (void)recipes<Llama>().at("lama_test"); }),
      "no recipe called \"lama_test\"; did you mean \"llama_test\"?");
}

TEST(Plugin, AddsItsRecipes) {
  load_plugin(plugin("plugin"));
  load_plugin(plugin("plugin"));  // a second time changes nothing
  EXPECT_EQ(recipes<Llama>().at("from_plugin").make().dim, 77);
}

TEST(Plugin, ItsTypesAreTheBinarysTypes) {
  load_plugin(plugin("plugin"));
  AnyConfig made = recipes<Llama>().at("from_plugin").make();
  EXPECT_NE(made.find<Llama>(), nullptr);
}

TEST(Plugin, WrongFilesAreRefused) {
  const std::string missing = plugin("missing").string();
  EXPECT_EQ(
      message_of<InputError>([&] { load_plugin(missing); }),
      missing +
          ": cannot load plug-in: cannot open shared object file: No such file or "
          "directory");
  const std::string text = TITAN_SOURCE_DIR "/titan/config/CMakeLists.txt";
  EXPECT_TRUE(message_of<InputError>([&] {
                load_plugin(text);
              }).starts_with(text + ": cannot load plug-in: "));
  const std::string old = plugin("plugin_old").string();
  EXPECT_EQ(
      message_of<InputError>([&] { load_plugin(old); }),
      fmt::format(
          "{}: expected a plug-in for \"{}\", got \"titan 0.0.0\"",
          old,
          TITAN_PLUGIN_VERSION));
  const std::string unmarked = plugin("plugin_unmarked").string();
  EXPECT_EQ(
      message_of<InputError>([&] { load_plugin(unmarked); }),
      unmarked + ": not a titan plug-in: it has no TITAN_PLUGIN line");
}

TEST(Plugin, ATakenNameIsRefused) {
  const std::string twice = plugin("plugin_twice").string();
  EXPECT_EQ(
      message_of<ConfigError>([&] { load_plugin(twice); }),
      twice + ": recipe \"llama_test\" is registered twice");
}

TEST(Registration, KeepsWhatAStaticInitialiserCannotThrow) {
  const RegisterRecipe<Llama> again("llama_test", "again", [] { return Llama(); });
  EXPECT_EQ(
      take_registration_problems(),
      std::vector<std::string>{"recipe \"llama_test\" is registered twice"});
  EXPECT_TRUE(take_registration_problems().empty());
}

}  // namespace
}  // namespace titan::config
