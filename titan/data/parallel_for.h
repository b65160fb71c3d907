#pragma once
// A loop over independent iterations on several threads.

#include <cstddef>
#include <functional>

namespace titan::data {

// Calls body(i) once for every i < count, on the calling thread and up to threads - 1
// more. Afterwards rethrows the exception of the smallest i that had one.
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& body);

}  // namespace titan::data
