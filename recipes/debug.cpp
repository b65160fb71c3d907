// Tiny models that train in seconds on the bundled corpus: for trying the platform and
// for tests.

#include "recipes/assets.h"
#include "titan/config/recipe.h"
#include "titan/models/llama3/config.h"
#include "titan/models/qwen3/config.h"
#include "titan/train/config.h"

namespace titan::recipes {
namespace {

// 8 x 2,048 tokens a step, the size at which TorchTitan's debug model is measured.
train::TrainConfig debug(config::AnyConfig architecture) {
  return {
      .model = {.path = "", .architecture = std::move(architecture)},
      .data =
          {.sources = {{.path = asset("corpus/train.jsonl")}},
           .tokenizer = asset("tokenizers/debug")},
      .train =
          {.steps = 100,
           .tokens_per_microbatch = 8 * 2048,
           .context = 2048,
           .dtype = train::Dtype::kBf16},
      .optimizer = {.lr = 8e-4},
      .schedule = {.warmup_steps = 2, .decay_ratio = 0.8},
      .remat = {.mode = parallel::RematMode::kNone},
      .validation = {
          .every = 50, .sources = {{.path = asset("corpus/validation.jsonl")}}}};
}

const config::RegisterRecipe<train::TrainConfig> kLlama3Debug(
    "llama3_debug", "6 M parameter Llama 3 on the bundled corpus", [] {
      return debug(models::llama3_size("debug"));
    });

const config::RegisterRecipe<train::TrainConfig> kQwen3Debug(
    "qwen3_debug", "6 M parameter Qwen3 on the bundled corpus", [] {
      return debug(models::qwen3_size("debug"));
    });

}  // namespace
}  // namespace titan::recipes
