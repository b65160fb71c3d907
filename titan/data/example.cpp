#include "titan/data/example.h"

#include <algorithm>
#include <utility>

#include "titan/data/batch.h"

namespace titan::data {

Example::Example(std::vector<int32_t> ids, std::vector<uint8_t> targets)
    : own_ids_(std::move(ids)),
      own_targets_(std::move(targets)),
      ids_(own_ids_),
      targets_(own_targets_) {}

Example::Example(std::span<const int32_t> ids, std::span<const uint8_t> targets)
    : ids_(ids), targets_(targets) {}

int64_t Example::num_inputs() const {
  return std::max<int64_t>(std::ssize(ids_) - 1, 0);
}

int64_t Example::label(int64_t input) const {
  const auto next = static_cast<size_t>(input) + 1;
  return targets_.empty() || targets_[next] != 0 ? ids_[next] : kNoLabel;
}

bool Example::has_label() const {
  if (targets_.empty() || num_inputs() == 0) {
    return num_inputs() > 0;
  }
  return std::ranges::any_of(
      targets_.subspan(1), [](uint8_t target) { return target != 0; });
}

void Example::truncate(int64_t inputs) {
  const auto kept = static_cast<size_t>(inputs) + 1;
  ids_ = ids_.first(kept);
  if (!targets_.empty()) {
    targets_ = targets_.first(kept);
  }
}

}  // namespace titan::data
