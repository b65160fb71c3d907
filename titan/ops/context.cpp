#include "titan/ops/context.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "titan/base/nearest.h"

namespace titan::ops {

void WgradQueue::run() {
  while (!tasks_.empty()) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
}

void RematFrame::set_phase(Phase phase) {
  phase_ = phase;
  next_ = 0;
}

bool RematFrame::records(std::string_view name) const {
  return phase_ == Phase::kRecord && selected(name);
}

bool RematFrame::replays(std::string_view name) const {
  return phase_ == Phase::kReplay && selected(name);
}

void RematFrame::put(std::string_view name, std::vector<Tensor> results) {
  kept_.emplace_back(name, std::move(results));
}

std::vector<Tensor> RematFrame::take(std::string_view name) {
  TORCH_CHECK(
      next_ < kept_.size() && kept_[next_].first == name,
      "[remat] the replay asks for ",
      name,
      ", but ",
      next_ < kept_.size() ? kept_[next_].first : "nothing",
      " was recorded at this place");
  return std::move(kept_[next_++].second);
}

int64_t RematFrame::held_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, results] : kept_) {
    for (const Tensor& result : results) {
      bytes += result.defined() ? static_cast<int64_t>(result.nbytes()) : 0;
    }
  }
  return bytes;
}

bool RematFrame::selected(std::string_view name) const {
  return std::any_of(saved_.begin(), saved_.end(), [&](const std::string& pattern) {
    return glob_match(pattern, name);
  });
}

}  // namespace titan::ops
