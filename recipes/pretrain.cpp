// One full-size pre-training recipe for each published size of each dense family. The
// data are the user's: set data.sources and data.tokenizer.

#include <array>
#include <string>

#include "titan/config/recipe.h"
#include "titan/models/common/family.h"
#include "titan/models/llama3/config.h"
#include "titan/models/qwen3/config.h"
#include "titan/train/config.h"

namespace titan::recipes {
namespace {

train::TrainConfig pretrain(config::AnyConfig architecture, double lr) {
  return {
      .model = {.path = "", .architecture = std::move(architecture)},
      .train =
          {.steps = 10000,
           .tokens_per_microbatch = 8192,
           .tokens_per_step = 128 * 8192,
           .context = 8192,
           .dtype = train::Dtype::kBf16},
      .optimizer = {.lr = lr},
      .schedule = {.warmup_steps = 200},
      .checkpoint = {.every = 500}};
}

using Register = config::RegisterRecipe<train::TrainConfig>;

Register llama3(const std::string& recipe, const std::string& size, double lr) {
  return {recipe, "Llama 3 " + size + " from random weights", [size, lr] {
            return pretrain(models::llama3_size(size), lr);
          }};
}

Register qwen3(const std::string& recipe, const std::string& size, double lr) {
  return {recipe, "Qwen3 " + size + " from random weights", [size, lr] {
            return pretrain(models::qwen3_size(size), lr);
          }};
}

// Peak learning rates follow the published models: smaller for wider ones.
[[maybe_unused]] const std::array kRecipes = {
    llama3("llama3_1b", "1B", 8e-4),
    llama3("llama3_3b", "3B", 6e-4),
    llama3("llama3_8b", "8B", 3e-4),
    llama3("llama3_70b", "70B", 1.5e-4),
    llama3("llama3_405b", "405B", 8e-5),
    qwen3("qwen3_0_6b", "0.6B", 8e-4),
    qwen3("qwen3_1_7b", "1.7B", 8e-4),
    qwen3("qwen3_4b", "4B", 6e-4),
    qwen3("qwen3_8b", "8B", 3e-4),
    qwen3("qwen3_14b", "14B", 3e-4),
    qwen3("qwen3_32b", "32B", 2e-4)};

}  // namespace
}  // namespace titan::recipes
