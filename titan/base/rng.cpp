#include "titan/base/rng.h"

#include <cmath>
#include <numbers>

namespace titan {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;
constexpr uint32_t kWeyl1 = 0xBB67AE85;

float to_unit(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  auto key0 = static_cast<uint32_t>(key);
  auto key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0,
        static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1,
        static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

uint32_t Rng::bits_at(uint64_t index) const {
  const uint64_t block = index / 4;
  const std::array<uint32_t, 4> counter = {
      static_cast<uint32_t>(block),
      static_cast<uint32_t>(block >> 32),
      static_cast<uint32_t>(stream_),
      static_cast<uint32_t>(stream_ >> 32)};
  return philox(counter, seed_)[index % 4];
}

float Rng::uniform_at(uint64_t index) const {
  return to_unit(bits_at(index));
}

uint64_t Rng::next_below(uint64_t bound) {
  // Rejects the incomplete last interval, so every result is equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  while (true) {
    const uint64_t high = next_bits();
    const uint64_t value = (high << 32) | next_bits();
    if (value < limit) {
      return value % bound;
    }
  }
}

void Rng::fill_normal(std::span<float> out, float mean, float standard_deviation) const {
  for (size_t i = 0; i < out.size(); i += 4) {
    const uint64_t block = i / 4;
    const std::array<uint32_t, 4> bits = philox(
        {static_cast<uint32_t>(block),
         static_cast<uint32_t>(block >> 32),
         static_cast<uint32_t>(stream_),
         static_cast<uint32_t>(stream_ >> 32)},
        seed_);
    for (size_t pair = 0; pair < 2; ++pair) {
      const double u =
          1.0 - to_unit(bits[2 * pair]);  // (0, 1]: the logarithm stays finite
      const double radius = std::sqrt(-2.0 * std::log(u));
      const double angle = 2.0 * std::numbers::pi * to_unit(bits[2 * pair + 1]);
      const double values[2] = {radius * std::cos(angle), radius * std::sin(angle)};
      for (size_t k = 0; k < 2 && i + 2 * pair + k < out.size(); ++k) {
        out[i + 2 * pair + k] = static_cast<float>(mean + standard_deviation * values[k]);
      }
    }
  }
}

}  // namespace titan
