#include "titan/ops/cpu/softmax_kernels.h"

#include <limits>

#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// e^x for x <= 0 and NaN (vec.h's exp loses NaN), with the rounding error of x log2(e)
// put back: it would cost a digit where x is far from 0.
F16 exp_exact(F16 x) {
  constexpr float kLog2ERest = 1.925963033500011e-8F;
  constexpr float kLn2 = 0.693147180559945F;
  // e^-105 is 0 in fp32. NaN stays: the maximum is its second operand where one is NaN.
  const F16 low = max(splat(-105.0F), x);
  const F16 power = low * splat(kLog2E);
  F16 rest = fma(low, splat(kLog2E), splat(0.0F) - power);
  rest = fma(low, splat(kLog2ERest), rest);
  const F16 p = exp2(power);
  return fma(p, rest * splat(kLn2), p);
}

SoftmaxPartial reduce(const float* logits, int64_t n) {
  const int64_t whole = n / (2 * kLanes) * (2 * kLanes);
  const int rest = static_cast<int>(n - whole);
  const int rest_low = rest < kLanes ? rest : kLanes;
  const F16 none = splat(-kInfinity);
  const F16 last_low = keep_first(load_first(logits + whole, rest_low), rest_low, none);
  const F16 last_high = keep_first(
      load_first(logits + whole + rest_low, rest - rest_low), rest - rest_low, none);
  F16 low = max(last_low, none);
  F16 high = max(last_high, none);
  for (int64_t i = 0; i < whole; i += 2 * kLanes) {
    low = max(load(logits + i), low);
    high = max(load(logits + i + kLanes), high);
  }
  const float most = reduce_max(max(low, high));
  // A tile of -inf alone has the sum 0.
  const F16 base = splat(most == -kInfinity ? 0.0F : most);
  F16 sum_low = splat(0.0F);
  F16 sum_high = splat(0.0F);
  for (int64_t i = 0; i < whole; i += 2 * kLanes) {
    sum_low = sum_low + exp_exact(load(logits + i) - base);
    sum_high = sum_high + exp_exact(load(logits + i + kLanes) - base);
  }
  sum_low = sum_low + exp_exact(last_low - base);
  sum_high = sum_high + exp_exact(last_high - base);
  return {most, reduce_add(sum_low + sum_high)};
}

template <class P>
void gradient(
    const LogitGradient& of, const float* logits, int64_t n, int64_t padded, P* out) {
  const F16 base = splat(of.log_sum_exp);
  const F16 scale = splat(-of.grad);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(out + i, scale * exp_exact(load(logits + i) - base));
  }
  for (; i < padded; i += kLanes) {
    const int count = static_cast<int>(padded - i < kLanes ? padded - i : kLanes);
    const int valid = static_cast<int>(n - i < 0 ? 0 : n - i);
    const F16 p = exp_exact(load_first(logits + i, valid) - base);
    store_first(out + i, keep_first(scale * p, valid, splat(0.0F)), count);
  }
  if (of.target >= 0 && of.target < n) {
    const F16 p = exp_exact(splat(logits[of.target]) - base);
    store_first(out + of.target, splat(of.grad) * (splat(1.0F) - p), 1);
  }
}

}  // namespace

extern const SoftmaxKernels kSoftmax = {reduce, gradient<float>, gradient<Bf16>};

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
