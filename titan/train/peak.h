#pragma once

#include <ATen/core/Tensor.h>

namespace titan::train {

// The rate of a large matrix product in floating point operations a second, measured now
// with titan's own linear op on all threads (about 50 ms). MFU is stated against it.
[[nodiscard]] double measure_matmul_peak(at::ScalarType dtype);

}  // namespace titan::train
