#include "titan/checkpoint/safetensors_dtype.h"

#include <algorithm>
#include <array>

namespace titan::checkpoint {
namespace {

using at::ScalarType;

// The order is the one of the reference writer, so that both lay files out alike.
constexpr std::array kDtypes = {
    SafetensorsDtype{"BOOL", 8, ScalarType::Bool},
    SafetensorsDtype{"F4", 4, std::nullopt},
    SafetensorsDtype{"F6_E2M3", 6, std::nullopt},
    SafetensorsDtype{"F6_E3M2", 6, std::nullopt},
    SafetensorsDtype{"U8", 8, ScalarType::Byte},
    SafetensorsDtype{"I8", 8, ScalarType::Char},
    SafetensorsDtype{"F8_E5M2", 8, ScalarType::Float8_e5m2},
    SafetensorsDtype{"F8_E4M3", 8, ScalarType::Float8_e4m3fn},
    SafetensorsDtype{"F8_E8M0", 8, ScalarType::Float8_e8m0fnu},
    SafetensorsDtype{"I16", 16, ScalarType::Short},
    SafetensorsDtype{"U16", 16, ScalarType::UInt16},
    SafetensorsDtype{"F16", 16, ScalarType::Half},
    SafetensorsDtype{"BF16", 16, ScalarType::BFloat16},
    SafetensorsDtype{"I32", 32, ScalarType::Int},
    SafetensorsDtype{"U32", 32, ScalarType::UInt32},
    SafetensorsDtype{"F32", 32, ScalarType::Float},
    SafetensorsDtype{"C64", 64, ScalarType::ComplexFloat},
    SafetensorsDtype{"F64", 64, ScalarType::Double},
    SafetensorsDtype{"I64", 64, ScalarType::Long},
    SafetensorsDtype{"U64", 64, ScalarType::UInt64},
};

template <class Predicate>
const SafetensorsDtype* find_first(Predicate matches) {
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(), matches);
  return found == kDtypes.end() ? nullptr : found;
}

}  // namespace

std::span<const SafetensorsDtype> safetensors_dtypes() {
  return kDtypes;
}

const SafetensorsDtype* find_safetensors_dtype(std::string_view name) {
  return find_first([&](const SafetensorsDtype& dtype) { return dtype.name == name; });
}

const SafetensorsDtype* find_safetensors_dtype(at::ScalarType scalar) {
  return find_first(
      [&](const SafetensorsDtype& dtype) { return dtype.scalar == scalar; });
}

}  // namespace titan::checkpoint
