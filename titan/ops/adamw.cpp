#include "titan/ops/adamw.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/cpu/rows.h"

namespace titan::ops {
namespace {

void check(const char* name, const Tensor& x, int64_t numel) {
  TORCH_CHECK(
      x.scalar_type() == at::kFloat && x.is_contiguous() && x.numel() == numel,
      "[adamw_step] ",
      name,
      ": expected contiguous fp32 of ",
      numel,
      " elements, got ",
      x.scalar_type(),
      " of ",
      x.numel());
}

// Weights of the two terms of a running average, and what its start from zero costs.
double bias_correction(double beta, int64_t step) {
  return 1 - std::pow(beta, static_cast<double>(step));
}

}  // namespace

void adamw_step(
    const AdamWArgs& args,
    Tensor parameter,
    const Tensor& gradient,
    Tensor first_moment,
    Tensor second_moment) {
  const int64_t numel = parameter.numel();
  check("parameter", parameter, numel);
  check("gradient", gradient, numel);
  check("first moment", first_moment, numel);
  check("second moment", second_moment, numel);
  TORCH_CHECK(args.step >= 1, "[adamw_step] expected step >= 1, got ", args.step);
  if (!parameter.is_cpu()) {
    adamw_step_plain(args, parameter, gradient, first_moment, second_moment);
    return;
  }
  const cpu::AdamW update{
      .parameter = parameter.mutable_data_ptr<float>(),
      .gradient = gradient.const_data_ptr<float>(),
      .first_moment = first_moment.mutable_data_ptr<float>(),
      .second_moment = second_moment.mutable_data_ptr<float>(),
      .gradient_scale = static_cast<float>(args.gradient_scale),
      .beta1 = static_cast<float>(args.beta1),
      .one_minus_beta1 = static_cast<float>(1 - args.beta1),
      .beta2 = static_cast<float>(args.beta2),
      .one_minus_beta2 = static_cast<float>(1 - args.beta2),
      .decay = static_cast<float>(args.lr * args.weight_decay),
      .step_size = static_cast<float>(args.lr / bias_correction(args.beta1, args.step)),
      .inverse_root_bias2 =
          static_cast<float>(1 / std::sqrt(bias_correction(args.beta2, args.step))),
      .eps = static_cast<float>(args.eps)};
  at::parallel_for(0, numel, at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    cpu::adamw(update, begin, end);
  });
}

void adamw_step_plain(
    const AdamWArgs& args,
    Tensor parameter,
    const Tensor& gradient,
    Tensor first_moment,
    Tensor second_moment) {
  const Tensor g = gradient * args.gradient_scale;
  first_moment.mul_(args.beta1).add_(g, 1 - args.beta1);
  second_moment.mul_(args.beta2).addcmul_(g, g, 1 - args.beta2);
  const Tensor m_hat = first_moment / bias_correction(args.beta1, args.step);
  const Tensor v_hat = second_moment / bias_correction(args.beta2, args.step);
  const Tensor step = m_hat / (v_hat.sqrt() + args.eps);
  parameter.sub_(args.lr * (step + args.weight_decay * parameter));
}

double sum_of_squares(const Tensor& x) {
  TORCH_CHECK(
      x.scalar_type() == at::kFloat && x.is_contiguous(),
      "[sum_of_squares] expected contiguous fp32, got ",
      x.scalar_type());
  if (!x.is_cpu()) {
    return x.square().sum(at::kDouble).item<double>();
  }
  constexpr int64_t kBlock = 65536;
  const int64_t blocks = (x.numel() + kBlock - 1) / kBlock;
  const auto* data = x.const_data_ptr<float>();
  std::vector<double> sums(static_cast<size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t count = std::min(kBlock, x.numel() - b * kBlock);
      sums[b] = cpu::sum_of_squares(data + b * kBlock, count);
    }
  });
  double total = 0;
  for (const double sum : sums) {
    total += sum;
  }
  return total;
}

}  // namespace titan::ops
