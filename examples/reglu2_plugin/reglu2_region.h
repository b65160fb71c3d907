#pragma once

#include <array>
#include <string_view>

#include "titan/ops/region/expression.h"

namespace reglu2 {

// relu(gate)^2 up. Value, gradient and the kernels of every instruction set come from
// this one chain.
struct Reglu2 {
  static constexpr std::string_view kName = "reglu2";
  static constexpr std::array kInputs{
      titan::ops::region::Kind::kRows, titan::ops::region::Kind::kRows};
  static constexpr int kScalars = 0;

  static auto chain(auto gate, auto up) { return relu(gate) * relu(gate) * up; }
};

}  // namespace reglu2
