#include "titan/train/trainer.h"

#include <chrono>
#include <cmath>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/config/dump.h"
#include "titan/observe/machine.h"
#include "titan/observe/progress.h"
#include "titan/optim/clip.h"
#include "titan/train/model_files.h"
#include "titan/train/peak.h"
#include "titan/train/stop_signal.h"
#include "titan/train/validation.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, std::string resume_command)
    : config_(config),
      resume_command_(std::move(resume_command)),
      parts_(config_),
      folder_(config.run.folder, config::dump(config), config.run.allow_changes),
      checkpoints_(
          folder_.checkpoints(), config_.checkpoint, *parts_.model, *parts_.optimizer) {
  store_model_files(config_, *parts_.model, folder_.model());
  restore_or_initialize();
  metrics_ = std::make_unique<observe::MetricsLog>(folder_.metrics(), step_);
  if (config_.metrics.tensorboard) {
    tensorboard_ =
        std::make_unique<observe::TensorboardWriter>(folder_.events(), step_ + 1);
  }
  peak_flops_ = measure_matmul_peak(scalar_type(config_.train.dtype));
}

void Trainer::restore_or_initialize() {
  const std::optional<Json> state = checkpoints_.restore_latest();
  if (!state) {
    parts_.initialize_weights(config_);
    return;
  }
  const std::string where = folder_.path().string();
  step_ = json_get<int64_t>(*state, "step", where);
  tokens_seen_ = json_get<int64_t>(*state, "tokens_seen", where);
  parts_.loader->restore(state->at("data"));
  saved_step_ = step_;
  log::info("continuing {} after step {}", where, step_);
}

int64_t Trainer::last_step() const {
  const int64_t stop = config_.run.stop_after;
  return stop == 0 ? config_.train.steps : std::min(stop, config_.train.steps);
}

void Trainer::run() {
  const StopSignal stop_signal;
  if (step_ == 0) {
    observe::StepMetrics metrics;
    add_validation(metrics);
    write(metrics);
  }
  while (step_ < last_step() && !StopSignal::requested()) {
    const auto start = Clock::now();
    const std::vector<data::Batch> batches = parts_.fetch(config_);
    if (batches.empty()) {
      log::info("the data ended after step {} of {}", step_, config_.train.steps);
      break;
    }
    const double data_seconds = seconds_since(start);
    StepReport report = train_step(batches);
    report.data_seconds = data_seconds;
    report.seconds = seconds_since(start);
    if (config_.checkpoint.every > 0 && step_ % config_.checkpoint.every == 0) {
      save();
    }
    this->report(report);
  }
  if (saved_step_ != step_) {
    save();
  }
  checkpoints_.wait();
  if (step_ < config_.train.steps) {
    log::info("stopped after step {}; continue with: {}", step_, resume_command_);
  } else {
    log::info("finished {} steps; the run is in {}", step_, folder_.path().string());
  }
}

Trainer::StepReport Trainer::train_step(const std::vector<data::Batch>& batches) {
  StepReport report;
  const int64_t total = config_.schedule.total_steps > 0 ? config_.schedule.total_steps
                                                         : config_.train.steps;
  report.lr = config_.optimizer.lr * optim::lr_factor(config_.schedule, total, step_);
  report.loss = accumulate_gradients(*parts_.model, batches);
  if (report.loss.num_targets > 0) {
    report.grad_norm = optim::gradient_norm(parts_.model->parameters());
    refuse_non_finite(report);
    checkpoints_.wait_staged();
    parts_.optimizer->step(
        report.lr, optim::clip_scale(report.grad_norm, config_.train.max_norm));
  } else {
    log::warning(
        "step {}: no token has a target; the weights stay as they are", step_ + 1);
  }
  ++step_;
  for (const data::Batch& batch : batches) {
    tokens_seen_ += static_cast<int64_t>(batch.tokens.size());
    report.flops += observe::flops_of_documents(parts_.cost, batch.document_lengths);
  }
  return report;
}

void Trainer::refuse_non_finite(const StepReport& report) {
  if (std::isfinite(report.loss.loss) && std::isfinite(report.grad_norm)) {
    return;
  }
  const std::string parameter = optim::non_finite_gradient(parts_.model->parameters());
  checkpoints_.wait();
  fail<Error>(
      "step {}: the loss is {} and the gradient norm {}{}; stopped before the update, "
      "the last "
      "checkpoint is that of step {}",
      step_ + 1,
      report.loss.loss,
      report.grad_norm,
      parameter.empty() ? "" : fmt::format(", first in {}", parameter),
      saved_step_ < 0 ? "none" : std::to_string(saved_step_));
}

void Trainer::save() {
  checkpoints_.begin(
      step_,
      {{"step", step_},
       {"tokens_seen", tokens_seen_},
       {"optimizer_steps", parts_.optimizer->steps()},
       {"seed", config_.run.seed},
       {"data", parts_.loader->state()},
       {"config", config::dump(config_)}});
  saved_step_ = step_;
}

void Trainer::report(const StepReport& report) {
  const observe::MemoryUse memory = observe::memory_use();
  const int64_t tokens =
      config_.train.microbatches() * config_.train.tokens_per_microbatch;
  const double rate = static_cast<double>(tokens) / report.seconds;
  const double mfu = observe::mfu(report.flops / report.seconds, peak_flops_);
  const observe::Progress progress{
      .step = step_,
      .steps = config_.train.steps,
      .loss = report.loss.loss,
      .grad_norm = report.grad_norm,
      .lr = report.lr,
      .tokens_per_second = rate,
      .mfu = mfu,
      .memory_bytes = memory.rss_bytes,
      .seconds_left = report.seconds * static_cast<double>(last_step() - step_)};
  const bool last = step_ == config_.train.steps;
  const int64_t validation_every = config_.validation.every;
  const bool validates = last || (validation_every > 0 && step_ % validation_every == 0);
  if (step_ % config_.metrics.every != 0 && !last && !validates) {
    return;
  }
  log::progress(observe::progress_line(progress));
  observe::StepMetrics metrics{.step = step_, .values = {}};
  metrics.add("loss", report.loss.loss);
  metrics.add("grad_norm", report.grad_norm);
  metrics.add("lr", report.lr);
  metrics.add("trained_tokens", report.loss.num_targets);
  metrics.add("tokens_seen", tokens_seen_);
  add_data_counts(metrics);
  metrics.add("tokens_per_second", rate);
  metrics.add("mfu", mfu);
  metrics.add("step_seconds", report.seconds);
  metrics.add("data_seconds", report.data_seconds);
  metrics.add("rss_bytes", memory.rss_bytes);
  metrics.add("peak_rss_bytes", memory.peak_rss_bytes);
  if (validates) {
    add_validation(metrics);
  }
  write(metrics);
}

void Trainer::add_data_counts(observe::StepMetrics& metrics) const {
  const data::DocumentCounts& counts = parts_.loader->counts();
  metrics.add("documents", counts.documents);
  metrics.add("documents_bad", counts.bad);
  metrics.add("documents_dropped", counts.dropped);
  metrics.add("documents_truncated", counts.truncated);
  metrics.add("documents_without_label", counts.without_label);
  metrics.add("filling_tokens", parts_.loader->filling());
}

void Trainer::add_validation(observe::StepMetrics& metrics) {
  if (config_.validation.sources.empty()) {
    return;
  }
  const ValidationResult result = validate(*parts_.model, config_, parts_.tokenizer);
  log::info(
      "validation after step {}: loss {:.4f} over {} tokens",
      step_,
      result.loss,
      result.num_targets);
  metrics.add("validation_loss", result.loss);
  metrics.add("validation_tokens", result.num_targets);
}

void Trainer::write(const observe::StepMetrics& metrics) {
  if (metrics.values.empty()) {
    return;
  }
  metrics_->write(metrics);
  if (tensorboard_) {
    tensorboard_->write(metrics);
  }
}

}  // namespace titan::train
