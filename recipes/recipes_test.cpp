#include <gtest/gtest.h>

#include "recipes/assets.h"
#include "titan/base/files.h"
#include "titan/config/assign.h"
#include "titan/config/recipe.h"
#include "titan/models/common/causal_lm.h"
#include "titan/train/config.h"

namespace titan::recipes {
namespace {

TEST(Recipes, EveryRecipePassesItsChecksAndItsModelAssembles) {
  const auto& recipes = config::recipes<train::TrainConfig>();
  EXPECT_GE(recipes.names().size(), 14U);
  for (const std::string& name : recipes.names()) {
    train::TrainConfig config = recipes.at(name).make();
    if (config.model.path.empty()) {
      EXPECT_NO_THROW(models::CausalLm(config.model.architecture, {})) << name;
      EXPECT_LE(
          config.train.context,
          models::CausalLm(config.model.architecture, {}).facts().context)
          << name;
    } else {
      EXPECT_TRUE(config.model.architecture.type().empty()) << name;
    }
  }
}

TEST(Recipes, BundledFilesAreThere) {
  for (const char* name :
       {"corpus/train.jsonl",
        "corpus/validation.jsonl",
        "chat/train.jsonl",
        "chat/validation.jsonl",
        "tokenizers/debug/tokenizer.json"}) {
    EXPECT_TRUE(fs::exists(asset(name))) << name;
  }
}

}  // namespace
}  // namespace titan::recipes
