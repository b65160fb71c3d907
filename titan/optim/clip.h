#pragma once

#include <string>

#include "titan/parallel/parameter_store.h"

namespace titan::optim {

// The 2-norm over all gradients: squares in fp32, sums in double in one fixed order, so
// it does not depend on the number of threads. NaN and infinities come through.
[[nodiscard]] double gradient_norm(parallel::ParameterStore& store);

// What the gradients are multiplied by so that their norm is at most max_norm:
// min(1, max_norm / (norm + 1e-6)); 1 when max_norm is 0 (no clipping).
[[nodiscard]] double clip_scale(double norm, double max_norm);

// The first parameter whose gradient holds a NaN or an infinity; empty when none does.
[[nodiscard]] std::string non_finite_gradient(parallel::ParameterStore& store);

}  // namespace titan::optim
