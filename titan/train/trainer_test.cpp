#include "titan/train/trainer.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/models/llama3/config.h"
#include "titan/train/stop_signal.h"

namespace titan::train {
namespace {

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_trainer_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder.parent_path());
  return folder;
}

models::Llama3Config tiny_model() {
  models::Llama3Config model = models::llama3_size("debug");
  model.dense.dim = 64;
  model.dense.layers = 2;
  model.dense.heads = 4;
  model.dense.kv_heads = 2;
  model.dense.ffn_hidden = 96;
  return model;
}

TrainConfig tiny(const fs::path& folder, Dtype dtype = Dtype::kFp32) {
  const std::string data = TITAN_SOURCE_DIR "/data/";
  return {
      .run = {.folder = folder.string(), .seed = 7},
      .model = {.path = "", .architecture = tiny_model()},
      .data =
          {.sources = {{.path = data + "corpus/train.jsonl"}},
           .tokenizer = data + "tokenizers/debug"},
      .train =
          {.steps = 6,
           .tokens_per_microbatch = 256,
           .tokens_per_step = 512,
           .context = 128,
           .dtype = dtype},
      .optimizer = {.lr = 3e-3},
      .schedule = {.warmup_steps = 2},
      .metrics = {.tensorboard = false}};
}

std::vector<Json> metrics_of(const fs::path& folder) {
  std::ifstream file(folder / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(parse_json(line, "metrics.jsonl"));
  }
  return lines;
}

std::vector<double> losses_of(const fs::path& folder) {
  std::vector<double> losses;
  for (const Json& line : metrics_of(folder)) {
    losses.push_back(line.at("loss").get<double>());
  }
  return losses;
}

std::vector<at::Tensor> weights_of(Trainer& trainer) {
  std::vector<at::Tensor> weights;
  for (const auto& parameter : trainer.model().parameters().parameters()) {
    weights.push_back(parameter.master().clone());
  }
  return weights;
}

std::vector<at::Tensor> train(const TrainConfig& config) {
  Trainer trainer(config, "titan train tiny");
  trainer.run();
  return weights_of(trainer);
}

void expect_same_bits(
    const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::equal(a[i], b[i])) << "parameter " << i;
  }
}

class TrainerTest : public testing::TestWithParam<Dtype> {};

TEST_P(TrainerTest, ResumeIsBitwise) {
  const TrainConfig whole = tiny(fresh_folder("whole"), GetParam());
  const auto expected = train(whole);
  TrainConfig parts = tiny(fresh_folder("parts"), GetParam());
  for (const int64_t stop : {2, 5, 0}) {
    parts.run.stop_after = stop;
    const auto weights = train(parts);
    if (stop == 0) {
      expect_same_bits(expected, weights);
    }
  }
  EXPECT_EQ(losses_of(whole.run.folder), losses_of(parts.run.folder));
}

TEST_P(TrainerTest, SameSeedSameBits) {
  const TrainConfig first = tiny(fresh_folder("first"), GetParam());
  TrainConfig second = tiny(fresh_folder("second"), GetParam());
  expect_same_bits(train(first), train(second));
  EXPECT_EQ(losses_of(first.run.folder), losses_of(second.run.folder));
  TrainConfig other = tiny(fresh_folder("other"), GetParam());
  other.run.seed = 8;
  (void)train(other);
  EXPECT_NE(losses_of(first.run.folder), losses_of(other.run.folder));
}

TEST_P(TrainerTest, ThirtyStepsLearn) {
  TrainConfig config = tiny(fresh_folder("learns"), GetParam());
  config.train.steps = 30;
  config.train.tokens_per_microbatch = 1024;
  config.train.tokens_per_step = 4096;
  config.optimizer.lr = 1e-2;
  config.validation.sources = {
      {.path = TITAN_SOURCE_DIR "/data/corpus/validation.jsonl"}};
  config.validation.batches = 2;
  (void)train(config);
  const auto metrics = metrics_of(config.run.folder);
  ASSERT_EQ(metrics.size(), 31U) << "the validation before step 1 has a line of its own";
  EXPECT_GT(metrics[1].at("loss").get<double>(), 7.4) << "about ln(2048) = 7.62 at first";
  EXPECT_LT(metrics[30].at("loss").get<double>(), 6.62)
      << "a nat below it after 30 steps";
  EXPECT_LT(
      metrics[30].at("validation_loss").get<double>(),
      metrics[0].at("validation_loss").get<double>() - 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, TrainerTest, testing::Values(Dtype::kFp32, Dtype::kBf16));

TEST(Trainer, ATornCheckpointIsSkipped) {
  TrainConfig config = tiny(fresh_folder("torn"));
  config.run.stop_after = 3;
  (void)train(config);
  const fs::path torn = fs::path(config.run.folder) / "checkpoint" / "step-00000005";
  fs::create_directories(torn);
  std::ofstream(torn / "state.json") << "{";
  config.run.stop_after = 4;
  Trainer trainer(config, "");
  EXPECT_EQ(trainer.step(), 3);
}

TEST(Trainer, OldCheckpointsGoAndTheLastStays) {
  TrainConfig config = tiny(fresh_folder("keep"));
  config.checkpoint = {.every = 1, .keep_latest = 2};
  (void)train(config);
  const auto kept =
      checkpoint::complete_checkpoints(fs::path(config.run.folder) / "checkpoint");
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].filename(), "step-00000006");
  EXPECT_EQ(kept[1].filename(), "step-00000005");
}

TEST(Trainer, ASecondProcessIsKeptOutOfTheRunFolder) {
  const TrainConfig config = tiny(fresh_folder("locked"));
  const Trainer trainer(config, "");
  EXPECT_THROW(Trainer(config, ""), EnvironmentError);
}

TEST(Trainer, AnotherConfigIsRefusedByName) {
  TrainConfig config = tiny(fresh_folder("changed"));
  config.run.stop_after = 1;
  (void)train(config);
  config.train.steps = 8;       // may change
  config.metrics.every = 2;     // may change
  config.optimizer.lr = 1e-3;   // may not
  config.data.shuffle = false;  // may not
  try {
    Trainer trainer(config, "");
    FAIL();
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("optimizer.lr: 0.003 -> 0.001"), std::string::npos) << message;
    EXPECT_NE(message.find("data.shuffle: true -> false"), std::string::npos) << message;
    EXPECT_EQ(message.find("train.steps"), std::string::npos) << message;
  }
  config.data.shuffle = true;
  config.run.allow_changes = {"optimizer.*"};
  EXPECT_EQ(Trainer(config, "").step(), 1);
}

TEST(Trainer, SigtermFinishesTheStepAndSaves) {
  TrainConfig config = tiny(fresh_folder("signal"));
  config.train.steps = 1000;
  {
    Trainer trainer(config, "titan train tiny");
    std::thread sender([&] {
      while (trainer.step() < 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::raise(SIGTERM);
    });
    trainer.run();
    sender.join();
    EXPECT_LT(trainer.step(), 1000);
  }
  const auto latest = checkpoint::find_latest(fs::path(config.run.folder) / "checkpoint");
  EXPECT_GE(latest.step, 2);
  EXPECT_EQ(metrics_of(config.run.folder).size(), static_cast<size_t>(latest.step));
}

TEST(Trainer, ANonFiniteLossStopsBeforeTheUpdate) {
  TrainConfig config = tiny(fresh_folder("nan"));
  config.run.stop_after = 2;
  (void)train(config);
  config.run.stop_after = 0;
  Trainer trainer(config, "");
  trainer.model().parameters().find("layers.1.ffn.down.weight")->master()[3][5] =
      std::numeric_limits<float>::infinity();
  trainer.model().parameters().values_changed();
  const auto before = weights_of(trainer);
  try {
    trainer.run();
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("step 3: the loss is")) << message;
    EXPECT_NE(message.find(", first in "), std::string::npos) << message;
    EXPECT_NE(message.find("the last checkpoint is that of step 2"), std::string::npos)
        << message;
  }
  expect_same_bits(before, weights_of(trainer));
}

TEST(Trainer, TheEndOfTheDataSavesAndStops) {
  TrainConfig config = tiny(fresh_folder("ends"));
  config.data.sources = {{.path = TITAN_SOURCE_DIR "/data/corpus/validation.jsonl"}};
  config.data.epochs = 1;
  config.train.steps = 1000;
  Trainer trainer(config, "");
  trainer.run();
  EXPECT_LT(trainer.step(), 1000);
  EXPECT_EQ(
      checkpoint::find_latest(fs::path(config.run.folder) / "checkpoint").step,
      trainer.step());
}

std::unique_ptr<models::CausalLm> step_model() {
  auto model =
      std::make_unique<models::CausalLm>(tiny_model(), models::CausalLmOptions{});
  model->parameters().materialize();
  model->parameters().initialize(3);
  return model;
}

data::Batch batch(std::vector<int64_t> tokens, std::vector<int64_t> labels) {
  const auto length = static_cast<int64_t>(tokens.size());
  return {std::move(tokens), std::move(labels), {length}};
}

// One micro-batch of two documents, and the same documents as two micro-batches of
// different numbers of targets: the loss is a mean over tokens, not a mean of means.
TEST(Step, TheGradientDoesNotDependOnTheSplit) {
  const auto one = step_model();
  const auto two = step_model();
  data::Batch both = batch({5, 6, 7, 8, 9, 10}, {6, -100, -100, 9, 10, 11});
  both.document_lengths = {3, 3};
  const StepLoss whole = accumulate_gradients(*one, {both});
  const StepLoss split = accumulate_gradients(
      *two, {batch({5, 6, 7}, {6, -100, -100}), batch({8, 9, 10}, {9, 10, 11})});
  EXPECT_EQ(whole.num_targets, 4);
  EXPECT_EQ(split.num_targets, 4);
  EXPECT_NEAR(whole.loss, split.loss, 1e-6 * whole.loss);
  const auto& parameters = one->parameters().parameters();
  for (const auto& parameter : parameters) {
    const at::Tensor expected = parameter.gradient();
    const at::Tensor got = two->parameters().find(parameter.name)->gradient();
    EXPECT_LE(
        (expected - got).abs().max().item<double>(),
        1e-5 * expected.abs().max().item<double>() + 1e-9)
        << parameter.name;
  }
}

TEST(Step, MicrobatchesWithoutTargetsChangeNothing) {
  const auto alone = step_model();
  const auto mixed = step_model();
  const data::Batch real = batch({5, 6, 7}, {6, 7, 8});
  const data::Batch masked = batch({5, 6, 7}, {-100, -100, -100});
  const StepLoss a = accumulate_gradients(*alone, {real});
  const StepLoss b = accumulate_gradients(*mixed, {masked, real});
  EXPECT_EQ(a.loss, b.loss);
  for (const auto& parameter : alone->parameters().parameters()) {
    EXPECT_TRUE(at::equal(
        parameter.gradient(), mixed->parameters().find(parameter.name)->gradient()));
  }
  const StepLoss none = accumulate_gradients(*step_model(), {masked, masked});
  EXPECT_EQ(none.num_targets, 0);
  EXPECT_EQ(none.loss, 0);
}

// The tied weight is one parameter: two uses, one gradient, one update.
TEST(Step, TiedEmbeddingsCollectBothGradients) {
  models::Llama3Config config = tiny_model();
  config.dense.tied_embeddings = true;
  models::CausalLm tied(config, {});
  tied.parameters().materialize();
  tied.parameters().initialize(3);
  (void)accumulate_gradients(tied, {batch({5, 6}, {6, 7})});
  const at::Tensor gradient = tied.parameters().find("embed.weight")->gradient();
  EXPECT_GT(gradient[5].abs().max().item<float>(), 0) << "as an input";
  EXPECT_GT(gradient[7].abs().max().item<float>(), 0) << "as a target";
  EXPECT_GT(gradient[1000].abs().max().item<float>(), 0) << "in the normaliser";
}

}  // namespace
}  // namespace titan::train
