#pragma once
// Memory that calls reuse: caches and buffers.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace titan::text {

// Lends a T to one caller at a time; makes as many as callers run at once. Thread-safe.
template <class T>
class ScratchPool {
 public:
  class Lease {
   public:
    Lease(ScratchPool& pool, std::unique_ptr<T> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}

    ~Lease() { pool_.give_back(std::move(scratch_)); }

    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    T& operator*() { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> scratch_;
  };

  [[nodiscard]] Lease take() {
    std::unique_ptr<T> scratch;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        scratch = std::move(free_.back());
        free_.pop_back();
      }
    }
    return Lease(*this, scratch ? std::move(scratch) : std::make_unique<T>());
  }

 private:
  void give_back(std::unique_ptr<T> scratch) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace titan::text
