#pragma once

#include <ATen/core/Tensor.h>

namespace titan::ops {

using at::Tensor;

struct AdamWArgs {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0;
  int64_t step = 1;           // 1-based count of updates, for the bias correction
  double gradient_scale = 1;  // multiplies the gradient first (clipping)
};

// One AdamW update (Loshchilov and Hutter 2019) in one pass over flat fp32 tensors of
// equal length: p -= lr * (m_hat / (sqrt(v_hat) + eps) + weight_decay * p). The moments
// are both fp32, or both bf16: then they are rounded after the update, which itself is
// fp32. The result of an element depends on that element alone.
void adamw_step(
    const AdamWArgs& args,
    Tensor parameter,
    const Tensor& gradient,
    Tensor first_moment,
    Tensor second_moment);

// Oracle from library calls.
void adamw_step_plain(
    const AdamWArgs& args,
    Tensor parameter,
    const Tensor& gradient,
    Tensor first_moment,
    Tensor second_moment);

}  // namespace titan::ops
