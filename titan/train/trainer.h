#pragma once

#include <memory>
#include <string>
#include <vector>

#include "titan/observe/metrics.h"
#include "titan/observe/tensorboard.h"
#include "titan/train/checkpoints.h"
#include "titan/train/config.h"
#include "titan/train/parts.h"
#include "titan/train/run_folder.h"
#include "titan/train/step.h"

namespace titan::train {

// One training run in its folder: continues from the newest complete checkpoint there, or
// starts from model.path or from random weights.
class Trainer {
 public:
  // Opens and checks everything that the run needs; nothing has been trained.
  // `resume_command` is shown when the run stops early.
  Trainer(const TrainConfig& config, std::string resume_command);

  // Trains until train.steps, run.stop_after, the end of the data or a signal, and saves.
  // Throws Error, with the last checkpoint intact, when the loss or a gradient is not
  // finite.
  void run();

  // Optimizer updates done so far.
  [[nodiscard]] int64_t step() const { return step_; }

  [[nodiscard]] models::CausalLm& model() { return *parts_.model; }

 private:
  struct StepReport {
    StepLoss loss;
    double grad_norm = 0;
    double lr = 0;
    double seconds = 0;
    double data_seconds = 0;
    double flops = 0;
  };

  void restore_or_initialize();
  void save();
  [[nodiscard]] StepReport train_step(const std::vector<data::Batch>& batches);
  void refuse_non_finite(const StepReport& report);
  void report(const StepReport& report);
  // Adds what became of the documents so far.
  void add_data_counts(observe::StepMetrics& metrics) const;
  // Adds the loss on the held-out documents, where there are any.
  void add_validation(observe::StepMetrics& metrics);
  void write(const observe::StepMetrics& metrics);
  [[nodiscard]] int64_t last_step() const;

  TrainConfig config_;
  std::string resume_command_;
  TrainParts
      parts_;  // first: what is wrong with the config must not leave a run folder behind
  RunFolder folder_;
  Checkpoints checkpoints_;
  std::unique_ptr<observe::MetricsLog> metrics_;
  std::unique_ptr<observe::TensorboardWriter> tensorboard_;
  double peak_flops_ = 0;
  int64_t step_ = 0;
  int64_t saved_step_ = -1;
  int64_t tokens_seen_ = 0;
};

}  // namespace titan::train
