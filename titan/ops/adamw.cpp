#include "titan/ops/adamw.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/cpu/rows.h"

namespace titan::ops {
namespace {

void check(const char* name, const Tensor& x, int64_t numel, at::ScalarType dtype) {
  TORCH_CHECK(
      x.scalar_type() == dtype && x.is_contiguous() && x.numel() == numel,
      "[adamw_step] ",
      name,
      ": expected contiguous ",
      dtype,
      " of ",
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
  const bool bf16_moments = first_moment.scalar_type() == at::kBFloat16;
  const at::ScalarType moment_dtype = bf16_moments ? at::kBFloat16 : at::kFloat;
  check("parameter", parameter, numel, at::kFloat);
  check("gradient", gradient, numel, at::kFloat);
  check("first moment", first_moment, numel, moment_dtype);
  check("second moment", second_moment, numel, moment_dtype);
  TORCH_CHECK(args.step >= 1, "[adamw_step] expected step >= 1, got ", args.step);
  if (!parameter.is_cpu()) {
    adamw_step_plain(args, parameter, gradient, first_moment, second_moment);
    return;
  }
  const cpu::AdamW update{
      .parameter = parameter.mutable_data_ptr<float>(),
      .gradient = gradient.const_data_ptr<float>(),
      .first_moment = first_moment.mutable_data_ptr(),
      .second_moment = second_moment.mutable_data_ptr(),
      .bf16_moments = bf16_moments,
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
  const Tensor m =
      first_moment.to(g.scalar_type()).mul(args.beta1).add_(g, 1 - args.beta1);
  const Tensor v =
      second_moment.to(g.scalar_type()).mul(args.beta2).addcmul_(g, g, 1 - args.beta2);
  first_moment.copy_(m);
  second_moment.copy_(v);
  const Tensor m_hat = m / bias_correction(args.beta1, args.step);
  const Tensor v_hat = v / bias_correction(args.beta2, args.step);
  const Tensor step = m_hat / (v_hat.sqrt() + args.eps);
  parameter.sub_(args.lr * (step + args.weight_decay * parameter));
}

}  // namespace titan::ops
