#pragma once
// The whole configuration of a training run. Recipes return one; every field can be set
// from the command line or a file by its path.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/config/any_config.h"
#include "titan/data/loader.h"
#include "titan/optim/adamw.h"
#include "titan/optim/schedule.h"
#include "titan/parallel/remat.h"

namespace titan::train {

struct RunConfig {
  std::string folder;  // empty: outputs/<recipe>
  int64_t seed = 0;
  int64_t stop_after = 0;
  std::vector<std::string> allow_changes;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("folder", self.folder, "run folder; empty: outputs/RECIPE");
    visit("seed", self.seed, "of the initial weights");
    visit("stop_after", self.stop_after, "save and stop after this step; 0: train.steps");
    visit(
        "allow_changes",
        self.allow_changes,
        "paths (globs) that may differ from the run folder's stored config");
  }
};

struct ModelConfig {
  std::string path;
  config::AnyConfig architecture;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        "path",
        self.path,
        "Hugging Face folder to start from; decides the architecture and the tokenizer");
    visit("architecture", self.architecture, "trained from scratch where path is empty");
  }
};

enum class Dtype { kFp32, kBf16 };

constexpr auto enum_names(Dtype) {
  return std::array{
      std::pair{Dtype::kFp32, std::string_view("fp32")},
      std::pair{Dtype::kBf16, std::string_view("bf16")}};
}

struct LoopConfig {
  int64_t steps = 1000;
  int64_t tokens_per_microbatch = 16384;
  int64_t tokens_per_step = 0;
  int64_t context = 2048;
  Dtype dtype = Dtype::kBf16;
  double max_norm = 1.0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("steps", self.steps, "optimizer updates");
    visit(
        "tokens_per_microbatch",
        self.tokens_per_microbatch,
        "tokens of one forward pass");
    visit(
        "tokens_per_step",
        self.tokens_per_step,
        "tokens of one update; a multiple of the above; 0: one micro-batch");
    visit("context", self.context, "longest piece of a document, tokens");
    visit("dtype", self.dtype, "of the computation; weights and sums are kept in fp32");
    visit("max_norm", self.max_norm, "gradients are clipped to this norm; 0: not");
  }

  [[nodiscard]] int64_t microbatches() const {
    return tokens_per_step == 0 ? 1 : tokens_per_step / tokens_per_microbatch;
  }

  template <class Problems>
  static void check(const LoopConfig& self, Problems& problems) {
    problems.expect(self.steps > 0, "steps", "> 0", self.steps);
    problems.expect(
        self.tokens_per_microbatch > 0,
        "tokens_per_microbatch",
        "> 0",
        self.tokens_per_microbatch);
    problems.expect(
        self.tokens_per_microbatch > 0 && self.tokens_per_step >= 0 &&
            self.tokens_per_step % self.tokens_per_microbatch == 0,
        "tokens_per_step",
        "a multiple of tokens_per_microbatch",
        self.tokens_per_step);
    problems.expect(self.context > 0, "context", "> 0", self.context);
    problems.expect(self.max_norm >= 0, "max_norm", ">= 0", self.max_norm);
  }
};

struct CompileConfig {
  std::vector<std::string> regions = {"*"};

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        "regions",
        self.regions,
        "point-wise regions that run fused, GLOB or GLOB=IMPLEMENTATION; others plain");
  }
};

struct CheckpointConfig {
  int64_t every = 0;
  int64_t keep_latest = 2;
  bool async = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("every", self.every, "steps between checkpoints; 0: only at the end");
    visit("keep_latest", self.keep_latest, "committed checkpoints that are kept; 0: all");
    visit("async", self.async, "train on while a checkpoint is written");
  }

  template <class Problems>
  static void check(const CheckpointConfig& self, Problems& problems) {
    problems.expect(self.every >= 0, "every", ">= 0", self.every);
    problems.expect(self.keep_latest >= 0, "keep_latest", ">= 0", self.keep_latest);
  }
};

struct ValidationConfig {
  int64_t every = 0;
  int64_t batches = 0;
  std::vector<data::SourceConfig> sources;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(
        "every",
        self.every,
        "steps between validations; one before and one after training in any case");
    visit("batches", self.batches, "micro-batches that are read; 0: all");
    visit("sources", self.sources, "held-out documents; empty: no validation");
  }

  template <class Problems>
  static void check(const ValidationConfig& self, Problems& problems) {
    problems.expect(self.every >= 0, "every", ">= 0", self.every);
    problems.expect(self.batches >= 0, "batches", ">= 0", self.batches);
  }
};

struct MetricsConfig {
  int64_t every = 1;
  bool tensorboard = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("every", self.every, "steps between lines of metrics.jsonl");
    visit("tensorboard", self.tensorboard, "also write TensorBoard event files");
  }

  template <class Problems>
  static void check(const MetricsConfig& self, Problems& problems) {
    problems.expect(self.every > 0, "every", "> 0", self.every);
  }
};

struct TrainConfig {
  RunConfig run;
  ModelConfig model;
  data::DataConfig data;
  LoopConfig train;
  optim::AdamWConfig optimizer;
  optim::ScheduleConfig schedule;
  parallel::RematConfig remat;
  CompileConfig compile;
  CheckpointConfig checkpoint;
  ValidationConfig validation;
  MetricsConfig metrics;
  std::vector<std::string> overrides;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("run", self.run, "the run and its folder");
    visit("model", self.model, "what is trained");
    visit("data", self.data, "what it is trained on");
    visit("train", self.train, "sizes of the loop");
    visit("optimizer", self.optimizer, "AdamW");
    visit("schedule", self.schedule, "of the learning rate");
    visit("remat", self.remat, "what is recomputed in the backward pass");
    visit("compile", self.compile, "which regions run as fused kernels");
    visit("checkpoint", self.checkpoint, "when the state is saved");
    visit("validation", self.validation, "loss on held-out documents");
    visit("metrics", self.metrics, "what is logged");
    visit("overrides", self.overrides, "replaced implementations, GLOB=NAME");
  }
};

}  // namespace titan::train
