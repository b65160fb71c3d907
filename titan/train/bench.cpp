#include "titan/train/bench.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "titan/base/error.h"
#include "titan/observe/machine.h"
#include "titan/optim/clip.h"
#include "titan/train/model_files.h"
#include "titan/train/parts.h"
#include "titan/train/peak.h"
#include "titan/train/step.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

DataBench bench_data(const TrainConfig& config) {
  constexpr double kSeconds = 5;
  const text::Tokenizer tokenizer = open_tokenizer(config);
  data::DataConfig data = config.data;
  data.epochs = 0;
  const auto start = Clock::now();
  data::Loader loader(
      data,
      {.tokens_per_microbatch = config.train.tokens_per_microbatch,
       .context = config.train.context,
       .vocab_size = tokenizer.vocab_size()},
      tokenizer);
  const auto opened = Clock::now();
  double tokens = 0;
  while (seconds_between(opened, Clock::now()) < kSeconds) {
    (void)loader.next();
    tokens += static_cast<double>(config.train.tokens_per_microbatch);
  }
  return {
      .open_seconds = seconds_between(start, opened),
      .tokens_per_second = tokens / seconds_between(opened, Clock::now()),
      .filling_share = static_cast<double>(loader.filling()) / tokens};
}

TrainBench bench_train(const TrainConfig& config, int64_t steps) {
  constexpr int64_t kWarmUp = 2;
  TrainParts parts(config);
  parts.initialize_weights(config);
  TrainBench result;
  result.peak_flops = measure_matmul_peak(scalar_type(config.train.dtype));
  std::vector<double> whole;
  std::vector<double> gradient;
  std::vector<double> update;
  std::vector<double> utilisation;
  for (int64_t i = 0; i < kWarmUp + steps; ++i) {
    const auto start = Clock::now();
    const std::vector<data::Batch> batches = parts.fetch(config);
    if (batches.empty()) {
      throw InputError("bench: the data ended before the last step");
    }
    result.loss = accumulate_gradients(*parts.model, batches).loss;
    const auto middle = Clock::now();
    const double norm = optim::gradient_norm(parts.model->parameters());
    parts.optimizer->step(
        config.optimizer.lr, optim::clip_scale(norm, config.train.max_norm));
    const auto end = Clock::now();
    if (i < kWarmUp) {
      continue;
    }
    double flops = 0;
    for (const data::Batch& batch : batches) {
      flops += observe::flops_of_documents(parts.cost, batch.document_lengths);
    }
    whole.push_back(seconds_between(start, end));
    gradient.push_back(seconds_between(start, middle));
    update.push_back(seconds_between(middle, end));
    utilisation.push_back(observe::mfu(flops / whole.back(), result.peak_flops));
  }
  const int64_t tokens = config.train.microbatches() * config.train.tokens_per_microbatch;
  result.step_seconds = median(whole);
  result.tokens_per_second = static_cast<double>(tokens) / result.step_seconds;
  result.gradient_seconds = median(gradient);
  result.update_seconds = median(update);
  result.mfu = median(utilisation);
  result.peak_rss_bytes = observe::memory_use().peak_rss_bytes;
  return result;
}

}  // namespace titan::train
