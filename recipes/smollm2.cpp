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

// Supervised fine-tuning on the bundled conversations: only the answers are learnt, and
// every conversation is whole.
train::TrainConfig smollm2_chat() {
  train::TrainConfig config = smollm2_finetune();
  config.data.sources = {
      {.path = asset("chat/train.jsonl"), .kind = data::DocumentKind::kChat}};
  config.data.over_long = data::OverLong::kDrop;
  config.data.packing = data::Packing::kBestFit;
  config.train.steps = 20;
  config.optimizer.lr = 2e-5;
  config.schedule.warmup_steps = 2;
  config.checkpoint.every = 0;
  config.validation = {
      .every = 10,
      .sources = {
          {.path = asset("chat/validation.jsonl"), .kind = data::DocumentKind::kChat}}};
  return config;
}

const config::RegisterRecipe<train::TrainConfig> kSmolLm2(
    "smollm2_finetune",
    "continue training SmolLM2-135M on the bundled corpus",
    smollm2_finetune);

const config::RegisterRecipe<train::TrainConfig> kSmolLm2Chat(
    "smollm2_chat",
    "fine-tune SmolLM2-135M on the answers of the bundled conversations",
    smollm2_chat);

}  // namespace
}  // namespace titan::recipes
