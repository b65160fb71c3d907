#pragma once
// Inputs and comparisons of op tests.

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace titan::ops {

// Numbers of rows at which kernels change their blocking.
inline constexpr int64_t kRowCounts[] = {
    1, 2, 3, 7, 8, 16, 31, 33, 64, 255, 256, 257, 512};

// Normal values of standard deviation `scale`: the same for the same calls since the
// start of the test, whatever ran before it.
inline at::Tensor test_tensor(at::IntArrayRef sizes, at::ScalarType dtype, double scale) {
  static at::Generator generator;
  static const testing::TestInfo* owner = nullptr;
  const testing::TestInfo* current =
      testing::UnitTest::GetInstance()->current_test_info();
  if (current != owner) {
    owner = current;
    generator = at::detail::createCPUGenerator(/*seed=*/17);
  }
  return at::randn(sizes, generator, at::kFloat).mul_(scale).to(dtype);
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.contiguous();
  const at::Tensor y = b.contiguous();
  return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() &&
         (x.numel() == 0 ||
          std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0);
}

// at::set_num_threads for a scope.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) {
    at::set_num_threads(threads);
  }

  ~ThreadCount() { at::set_num_threads(before_); }

  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

// |a - exact| / |exact| in the Euclidean norm.
inline double relative_error(const at::Tensor& a, const at::Tensor& exact) {
  const double size = exact.norm().item<double>();
  const double error = (a.to(at::kDouble) - exact).norm().item<double>();
  return size == 0 ? error : error / size;
}

// Against fp64, `ours` errs at most 1.5 times as much as PyTorch's own result of the same
// dtype. A library error below `floor` (two units in the last place of fp32: what one or
// two roundings leave is luck) counts as that.
inline testing::AssertionResult no_worse(
    const at::Tensor& ours,
    const at::Tensor& library,
    const at::Tensor& exact,
    double floor = 2.4e-7) {
  const double error = relative_error(ours, exact);
  const double bound = 1.5 * std::max(relative_error(library, exact), floor);
  if (ours.sizes() == exact.sizes() && error <= bound) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "relative error " << error << ", allowed " << bound;
}

}  // namespace titan::ops
