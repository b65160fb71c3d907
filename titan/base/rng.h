#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). A value is a pure function of (seed, stream, index), so
// results do not depend on the order of calls, on threads or on how many ranks share the
// work.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace titan {

// One Philox4x32-10 block: ten rounds over a 128-bit counter with a 64-bit key.
[[nodiscard]] std::array<uint32_t, 4> philox(
    std::array<uint32_t, 4> counter, uint64_t key);

// A stable 64-bit hash of a name (FNV-1a with a final mix); the same on every machine.
[[nodiscard]] uint64_t stable_hash(std::string_view text);

// An independent sequence of numbers. Cheap to make and copy; not thread-safe only in
// next_*.
class Rng {
 public:
  explicit Rng(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  Rng(uint64_t seed, std::string_view stream) : Rng(seed, stable_hash(stream)) {}

  // 32 random bits at position `index` of the sequence; does not advance.
  [[nodiscard]] uint32_t bits_at(uint64_t index) const;
  // Uniform in [0, 1) with 24 random bits, at position `index`.
  [[nodiscard]] float uniform_at(uint64_t index) const;

  [[nodiscard]] uint32_t next_bits() { return bits_at(position_++); }

  // Uniform integer in [0, bound) without modulo bias. REQUIRES: bound > 0.
  [[nodiscard]] uint64_t next_below(uint64_t bound);

  // Standard normal values by Box-Muller; out[i] depends only on (seed, stream, i).
  void fill_normal(std::span<float> out, float mean, float standard_deviation) const;

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
};

}  // namespace titan
