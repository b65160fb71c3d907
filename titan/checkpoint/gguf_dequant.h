#pragma once
// Block formats of GGUF tensors and their values in fp32. The arithmetic follows the PyPI
// package `gguf` (gguf.quants) step by step, so that the results are equal to the bit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace titan::checkpoint {

// Identifiers as stored in the file.
enum class GgmlType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ6_K = 14,
  kBF16 = 30,
};

struct GgmlFormat {
  GgmlType type;
  std::string_view name;
  int64_t block_values;
  int64_t block_bytes;
};

// The format of a type identifier; nullptr when titan cannot read it.
[[nodiscard]] const GgmlFormat* find_ggml_format(uint32_t type);

// The name of any type that ggml defines, else "#123".
[[nodiscard]] std::string ggml_type_name(uint32_t type);

// The readable types, "F32, F16, ...".
[[nodiscard]] std::string readable_ggml_types();

// Writes the values of `blocks` to `out`. REQUIRES: blocks.size() is a multiple of
// block_bytes and out has block_values per block. Pure; large inputs use all threads.
void dequantize(
    const GgmlFormat& format, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace titan::checkpoint
