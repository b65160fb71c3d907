#pragma once
// Hashing of short texts: a few nanoseconds for a word.

#include <cstdint>
#include <cstring>
#include <string_view>

namespace titan::text {

// Both halves of the 128-bit product, folded together.
[[nodiscard]] inline uint64_t mix_bits(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Well spread in all bits; for tables in memory only, not stable between versions.
[[nodiscard]] inline uint64_t hash_bytes(std::string_view text) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  uint64_t hash = text.size() * kFactor;
  const char* data = text.data();
  size_t left = text.size();
  for (uint64_t word; left >= sizeof(word); left -= sizeof(word), data += sizeof(word)) {
    std::memcpy(&word, data, sizeof(word));
    hash = mix_bits(hash ^ word, kFactor);
  }
  uint64_t rest = 0;
  for (size_t i = 0; i < left; ++i) {
    rest = rest << 8 | static_cast<unsigned char>(data[i]);
  }
  return mix_bits(hash ^ rest, kFactor ^ left);
}

}  // namespace titan::text
