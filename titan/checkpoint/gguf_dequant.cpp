#include "titan/checkpoint/gguf_dequant.h"

#include <array>
#include <cstring>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>
#include <fmt/ranges.h>

namespace titan::checkpoint {
namespace {

constexpr std::array kFormats = {
    GgmlFormat{GgmlType::kF32, "F32", 1, 4},
    GgmlFormat{GgmlType::kF16, "F16", 1, 2},
    GgmlFormat{GgmlType::kBF16, "BF16", 1, 2},
    GgmlFormat{GgmlType::kQ8_0, "Q8_0", 32, 34},
    GgmlFormat{GgmlType::kQ4_0, "Q4_0", 32, 18},
    GgmlFormat{GgmlType::kQ4_1, "Q4_1", 32, 20},
    GgmlFormat{GgmlType::kQ5_0, "Q5_0", 32, 22},
    GgmlFormat{GgmlType::kQ5_1, "Q5_1", 32, 24},
    GgmlFormat{GgmlType::kQ4_K, "Q4_K", 256, 144},
    GgmlFormat{GgmlType::kQ6_K, "Q6_K", 256, 210},
};

// Names by identifier, as of 2026; empty where an identifier was withdrawn.
constexpr std::array<std::string_view, 40> kTypeNames = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

float half_at(const uint8_t* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return static_cast<float>(c10::Half(bits, c10::Half::from_bits()));
}

uint32_t word_at(const uint8_t* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

void decode_f32(const uint8_t* in, float* out) {
  std::memcpy(out, in, sizeof *out);
}

void decode_f16(const uint8_t* in, float* out) {
  *out = half_at(in);
}

void decode_bf16(const uint8_t* in, float* out) {
  uint16_t bits = 0;
  std::memcpy(&bits, in, sizeof bits);
  *out = static_cast<float>(c10::BFloat16(bits, c10::BFloat16::from_bits()));
}

// d, then 32 signed bytes.
void decode_q8_0(const uint8_t* in, float* out) {
  const float d = half_at(in);
  for (int i = 0; i < 32; ++i) {
    out[i] = d * static_cast<float>(static_cast<int8_t>(in[2 + i]));
  }
}

// d, then 16 bytes: value i in the low half of byte i, value i + 16 in its high half.
void decode_q4_0(const uint8_t* in, float* out) {
  const float d = half_at(in);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((in[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((in[2 + i] >> 4) - 8);
  }
}

// d, m, then as Q4_0 without the offset.
void decode_q4_1(const uint8_t* in, float* out) {
  const float d = half_at(in);
  const float m = half_at(in + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(in[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(in[4 + i] >> 4) + m;
  }
}

// The fifth bits of 32 values stand in one word.
int fifth_bit(uint32_t word, int i) {
  return static_cast<int>((word >> i) & 1) << 4;
}

// d, fifth bits, then as Q4_0.
void decode_q5_0(const uint8_t* in, float* out) {
  const float d = half_at(in);
  const uint32_t high = word_at(in + 2);
  for (int i = 0; i < 16; ++i) {
    const uint8_t byte = in[6 + i];
    out[i] = d * static_cast<float>(((byte & 15) | fifth_bit(high, i)) - 16);
    out[i + 16] = d * static_cast<float>(((byte >> 4) | fifth_bit(high, i + 16)) - 16);
  }
}

// d, m, fifth bits, then as Q4_1.
void decode_q5_1(const uint8_t* in, float* out) {
  const float d = half_at(in);
  const float m = half_at(in + 2);
  const uint32_t high = word_at(in + 4);
  for (int i = 0; i < 16; ++i) {
    const uint8_t byte = in[8 + i];
    out[i] = d * static_cast<float>((byte & 15) | fifth_bit(high, i)) + m;
    out[i + 16] = d * static_cast<float>((byte >> 4) | fifth_bit(high, i + 16)) + m;
  }
}

// d, dmin, 12 bytes with eight 6-bit scales and eight 6-bit minima, 128 bytes of nibbles.
// Sub-blocks 2p and 2p + 1 are the low and high halves of bytes 32p .. 32p + 31.
void decode_q4_k(const uint8_t* in, float* out) {
  const float d = half_at(in);
  const float dmin = half_at(in + 2);
  const uint8_t* packed = in + 4;
  for (int sub = 0; sub < 8; ++sub) {
    int scale = packed[sub % 4] & 63;
    int minimum = packed[sub % 4 + 4] & 63;
    if (sub >= 4) {  // low four bits apart from the two high ones
      scale = (packed[sub + 4] & 15) | ((packed[sub - 4] >> 6) << 4);
      minimum = (packed[sub + 4] >> 4) | ((packed[sub] >> 6) << 4);
    }
    const float step = d * static_cast<float>(scale);
    const float floor = dmin * static_cast<float>(minimum);
    const uint8_t* nibbles = in + 16 + (sub / 2) * 32;
    for (int i = 0; i < 32; ++i) {
      const int q = sub % 2 == 0 ? nibbles[i] & 15 : nibbles[i] >> 4;
      out[sub * 32 + i] = step * static_cast<float>(q) - floor;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, d. In each half
// of 128 values, quarter k takes nibble k / 2 of bytes 32 (k % 2) + i and bit pair k.
void decode_q6_k(const uint8_t* in, float* out) {
  const float d = half_at(in + 208);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* low = in + half * 64;
    const uint8_t* high = in + 128 + half * 32;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const int nibble = (low[32 * (quarter % 2) + i] >> (4 * (quarter / 2))) & 15;
        const int pair = (high[i] >> (2 * quarter)) & 3;
        const int group = half * 8 + quarter * 2 + i / 16;
        const float scale = d * static_cast<float>(static_cast<int8_t>(in[192 + group]));
        out[half * 128 + quarter * 32 + i] =
            scale * static_cast<float>((nibble | (pair << 4)) - 32);
      }
    }
  }
}

using Decoder = void (*)(const uint8_t*, float*);

Decoder decoder_of(GgmlType type) {
  switch (type) {
    case GgmlType::kF32:
      return decode_f32;
    case GgmlType::kF16:
      return decode_f16;
    case GgmlType::kBF16:
      return decode_bf16;
    case GgmlType::kQ8_0:
      return decode_q8_0;
    case GgmlType::kQ4_0:
      return decode_q4_0;
    case GgmlType::kQ4_1:
      return decode_q4_1;
    case GgmlType::kQ5_0:
      return decode_q5_0;
    case GgmlType::kQ5_1:
      return decode_q5_1;
    case GgmlType::kQ4_K:
      return decode_q4_k;
    case GgmlType::kQ6_K:
      return decode_q6_k;
  }
  TORCH_INTERNAL_ASSERT(false, "unknown ggml type");
}

}  // namespace

const GgmlFormat* find_ggml_format(uint32_t type) {
  for (const GgmlFormat& format : kFormats) {
    if (static_cast<uint32_t>(format.type) == type) {
      return &format;
    }
  }
  return nullptr;
}

std::string ggml_type_name(uint32_t type) {
  if (type < kTypeNames.size() && !kTypeNames[type].empty()) {
    return std::string(kTypeNames[type]);
  }
  return fmt::format("#{}", type);
}

std::string readable_ggml_types() {
  std::vector<std::string_view> names;
  for (const GgmlFormat& format : kFormats) {
    names.push_back(format.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void dequantize(
    const GgmlFormat& format, std::span<const std::byte> blocks, std::span<float> out) {
  const auto count = static_cast<int64_t>(blocks.size()) / format.block_bytes;
  TORCH_CHECK(
      count * format.block_bytes == static_cast<int64_t>(blocks.size()) &&
          count * format.block_values == static_cast<int64_t>(out.size()),
      "[dequantize] ",
      blocks.size(),
      " bytes do not hold ",
      out.size(),
      " values");
  const Decoder decode = decoder_of(format.type);
  const auto* in = reinterpret_cast<const uint8_t*>(blocks.data());
  const int64_t grain = (int64_t{1} << 16) / format.block_values;
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      decode(in + block * format.block_bytes, out.data() + block * format.block_values);
    }
  });
}

}  // namespace titan::checkpoint
