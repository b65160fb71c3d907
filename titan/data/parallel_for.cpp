#include "titan/data/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace titan::data {

void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& body) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(threads, count); ++i) {
      others.emplace_back(work);
    }
    work();
  }
  const auto failed = std::ranges::find_if(
      failures, [](const std::exception_ptr& failure) { return failure != nullptr; });
  if (failed != failures.end()) {
    std::rethrow_exception(*failed);
  }
}

}  // namespace titan::data
