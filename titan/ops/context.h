#pragma once
// What a block runner lends to the ops of one block: where deferred weight gradients go,
// and which results are kept for the replay of the block. Captured by each op at forward
// (never looked up through thread-local state in backward, which may run on another
// thread).

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

// Weight gradients that backward has put off (zero-bubble pipelines run them later).
// Not thread-safe; belongs to one rank.
class WgradQueue {
 public:
  void push(std::function<void()> task) { tasks_.push_back(std::move(task)); }

  // Runs and drops the tasks in the order they were pushed.
  void run();

  [[nodiscard]] size_t size() const { return tasks_.size(); }

 private:
  std::deque<std::function<void()>> tasks_;
};

// Named results of one block that its replay is given instead of computing them again.
class RematFrame {
 public:
  enum class Phase { kOff, kRecord, kReplay };

  RematFrame() = default;

  // `saved` holds globs over region names, e.g. "attention.core".
  explicit RematFrame(std::vector<std::string> saved) : saved_(std::move(saved)) {}

  void set_phase(Phase phase);
  // True when the region `name` is to be put (kRecord) or taken (kReplay) now.
  [[nodiscard]] bool records(std::string_view name) const;
  [[nodiscard]] bool replays(std::string_view name) const;

  void put(std::string_view name, std::vector<Tensor> results);
  // The results that were put; REQUIRES: the replay takes the same names in the same
  // order.
  [[nodiscard]] std::vector<Tensor> take(std::string_view name);
  // Bytes held between record and replay.
  [[nodiscard]] int64_t held_bytes() const;

 private:
  [[nodiscard]] bool selected(std::string_view name) const;

  Phase phase_ = Phase::kOff;
  std::vector<std::string> saved_;
  std::vector<std::pair<std::string, std::vector<Tensor>>> kept_;
  size_t next_ = 0;
};

class RegionTable;

// Passed by reference to every heavy op; outlives the block's backward.
struct OpContext {
  WgradQueue* defer = nullptr;  // set by the runner just before it takes gradients
  RematFrame* remat = nullptr;
  const RegionTable* regions = nullptr;  // null: all regions fused
};

}  // namespace titan::ops
