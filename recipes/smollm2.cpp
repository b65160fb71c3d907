#include "recipes/assets.h"
#include "titan/config/recipe.h"
#include "titan/train/config.h"

namespace titan::recipes {
namespace {

// Full fine-tuning of an imported SmolLM2-135M, 4 x 512 tokens a step; model.path names
// the folder that `titan import` made.
train::TrainConfig smollm2_finetune() {
  return {
      .model = {.path = "outputs/smollm2", .architecture = {}},
      .data = {.sources = {{.path = asset("corpus/train.jsonl")}}},
      .train =
          {.steps = 60,
           .tokens_per_microbatch = 4 * 512,
           .context = 512,
           .dtype = train::Dtype::kBf16},
      .optimizer = {.lr = 5e-5, .weight_decay = 0.01},
      .schedule = {.warmup_steps = 5},
      .checkpoint = {.every = 20},
      .validation = {
          .every = 20, .sources = {{.path = asset("corpus/validation.jsonl")}}}};
}

const config::RegisterRecipe<train::TrainConfig> kSmolLm2(
    "smollm2_finetune",
    "continue training SmolLM2-135M on the bundled corpus",
    smollm2_finetune);

}  // namespace
}  // namespace titan::recipes
