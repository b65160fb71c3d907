#pragma once
// One document as the packer takes it.

#include <cstdint>
#include <span>
#include <vector>

namespace titan::data {

// Token ids t and, where not all of them are to be learnt, which are. The inputs are
// t[:-1]; input i has the label t[i + 1]. The ids are the example's own or lie in a
// memory map that outlives it.
class Example {
 public:
  // `targets` has one value an id, not 0 where the id is to be learnt; empty: all are.
  explicit Example(std::vector<int32_t> ids, std::vector<uint8_t> targets = {});
  // What lies elsewhere, without a copy.
  Example(std::span<const int32_t> ids, std::span<const uint8_t> targets);
  Example(Example&&) noexcept = default;
  Example& operator=(Example&&) noexcept = default;

  [[nodiscard]] std::span<const int32_t> ids() const { return ids_; }

  [[nodiscard]] std::span<const uint8_t> targets() const { return targets_; }

  [[nodiscard]] int64_t num_inputs() const;
  // The label of an input; kNoLabel where it is not to be learnt.
  // REQUIRES: 0 <= input < num_inputs().
  [[nodiscard]] int64_t label(int64_t input) const;
  // Whether any input has a label.
  [[nodiscard]] bool has_label() const;
  // Keeps the first inputs only. REQUIRES: 0 < inputs <= num_inputs().
  void truncate(int64_t inputs);

 private:
  std::vector<int32_t> own_ids_;
  std::vector<uint8_t> own_targets_;
  std::span<const int32_t> ids_;
  std::span<const uint8_t> targets_;
};

}  // namespace titan::data
