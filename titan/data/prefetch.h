#pragma once
// Making things ahead of their use, in order.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace titan::data {

// Calls `make` on a thread of its own until `depth` results wait; with depth 0 there is
// no thread and next() calls it. The results are the same either way. An exception of
// `make` ends the making; next() rethrows it after the results before it, at every call.
// The destructor waits for a call that runs. next() is for one thread.
template <class T>
class Prefetcher {
 public:
  Prefetcher(std::function<T()> make, size_t depth)
      : make_(std::move(make)), depth_(depth) {
    if (depth_ > 0) {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
  }

  [[nodiscard]] T next() {
    std::unique_lock lock(mutex_);
    if (depth_ == 0 && !failure_) {
      make_one(lock);
    }
    changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
    if (ready_.empty()) {
      std::rethrow_exception(failure_);
    }
    T result = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return result;
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return ready_.size() < depth_; }) &&
           !stop.stop_requested() && !failure_) {
      make_one(lock);
    }
  }

  // Makes one without the lock, and files it.
  void make_one(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::optional<T> result;
    std::exception_ptr failure;
    try {
      result.emplace(make_());
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (result) {
      ready_.push_back(std::move(*result));
    }
    failure_ = failure;
    changed_.notify_all();
  }

  std::function<T()> make_;
  size_t depth_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> ready_;         // guarded by mutex_
  std::exception_ptr failure_;  // guarded by mutex_
  std::jthread thread_;         // joined first
};

}  // namespace titan::data
