#pragma once
// Parallel regions of the kernels.

#include <algorithm>
#include <cstdint>
#include <omp.h>

#include <ATen/Parallel.h>

namespace titan::ops::cpu {

struct Range {
  int64_t begin;
  int64_t end;
};

// Cuts tasks [0, count) into one contiguous range a thread and calls body(range) on each
// of at most at::get_num_threads() threads. REQUIRES: body does not throw.
template <class Body>
void parallel_tasks(int64_t count, const Body& body) {
  const int threads = static_cast<int>(std::min<int64_t>(at::get_num_threads(), count));
  if (threads <= 1) {
    body(Range{0, count});
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t n = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    body(Range{count * i / n, count * (i + 1) / n});
  }
}

}  // namespace titan::ops::cpu
