#include "titan/data/permutation.h"

#include <bit>
#include <utility>

#include "titan/base/rng.h"

namespace titan::data {
namespace {

constexpr uint32_t kRounds = 8;

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t seed, uint64_t epoch)
    : n_(n), seed_(seed), epoch_(epoch) {
  const int bits = std::bit_width(n - 1);
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
}

uint64_t Permutation::encipher(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto left = static_cast<uint32_t>(value >> half_bits_);
  auto right = static_cast<uint32_t>(value & mask);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto noise = philox(
        {right,
         round,
         static_cast<uint32_t>(epoch_),
         static_cast<uint32_t>(epoch_ >> 32)},
        seed_);
    left ^= noise[0] & static_cast<uint32_t>(mask);
    std::swap(left, right);
  }
  return uint64_t{left} << half_bits_ | right;
}

uint64_t Permutation::operator()(uint64_t i) const {
  do {
    i = encipher(i);
  } while (i >= n_);
  return i;
}

}  // namespace titan::data
