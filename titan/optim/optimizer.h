#pragma once
// What a training loop asks of an optimizer.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::optim {

using at::Tensor;

enum class Precision { kFp32, kBf16 };

constexpr auto enum_names(Precision) {
  return std::array{
      std::pair{Precision::kFp32, std::string_view("fp32")},
      std::pair{Precision::kBf16, std::string_view("bf16")}};
}

constexpr at::ScalarType dtype_of(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
}

// Updates all parameters of a store. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update of every parameter from its gradient times gradient_scale, with the base
  // learning rate `lr`; the gradients are cleared.
  virtual void step(double lr, double gradient_scale) = 0;

  // Updates so far.
  [[nodiscard]] virtual int64_t steps() const = 0;
  virtual void set_steps(int64_t steps) = 0;

  struct State {
    std::string name;      // of the parameter
    Tensor first_moment;   // the parameter's shape
    Tensor second_moment;  // the parameter's shape; undefined where there is none
  };

  // Views of what a checkpoint holds, in the order of the store's parameters.
  [[nodiscard]] virtual std::vector<State> state() const = 0;
};

}  // namespace titan::optim
