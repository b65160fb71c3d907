#pragma once
// The element types of the safetensors format and what they are in LibTorch.

#include <optional>
#include <span>
#include <string_view>

#include <c10/core/ScalarType.h>

namespace titan::checkpoint {

struct SafetensorsDtype {
  std::string_view name;                 // as the header spells it, e.g. "BF16"
  int bits;                              // of one element; 4 and 6 are packed
  std::optional<at::ScalarType> scalar;  // none: only the raw bytes can be read
};

// Every type of the format, narrowest first: a file lays its tensors out from the last of
// these to the first, so that each is aligned to its own element size.
[[nodiscard]] std::span<const SafetensorsDtype> safetensors_dtypes();

// nullptr when the format has no such type.
[[nodiscard]] const SafetensorsDtype* find_safetensors_dtype(std::string_view name);
[[nodiscard]] const SafetensorsDtype* find_safetensors_dtype(at::ScalarType scalar);

}  // namespace titan::checkpoint
