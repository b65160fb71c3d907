#include "titan/data/intake.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"

namespace titan::data {

Intake::Intake(
    Source source,
    IntakeLimits limits,
    std::vector<int64_t> used,
    const DocumentCounts& counts)
    : source_(std::move(source)),
      limits_(std::move(limits)),
      used_(std::move(used)),
      counts_(counts),
      left_out_(used_.size(), 0) {}

std::optional<Example> Intake::next() {
  while (std::optional<Arrival> arrival = source_()) {
    ++used_[arrival->part];
    ++counts_.documents;
    if (!arrival->example) {
      ++counts_.bad;
    } else if (accept(*arrival->example)) {
      std::ranges::fill(left_out_, 0);
      return std::move(arrival->example);
    }
    refuse_endless_search(arrival->part);
  }
  return std::nullopt;
}

bool Intake::accept(Example& example) {
  if (example.num_inputs() > limits_.max_inputs) {
    if (limits_.over_long == OverLong::kDrop) {
      ++counts_.dropped;
      return false;
    }
    if (limits_.over_long == OverLong::kTruncate) {
      ++counts_.truncated;
      example.truncate(limits_.max_inputs);
    }
  }
  if (!example.has_label()) {
    ++counts_.without_label;
    return false;
  }
  return true;
}

void Intake::refuse_endless_search(size_t part) {
  ++left_out_[part];
  for (size_t i = 0; i < left_out_.size(); ++i) {
    if (left_out_[i] < limits_.part_sizes[i]) {
      return;
    }
  }
  fail_nothing_to_learn(counts_);
}

void fail_nothing_to_learn(const DocumentCounts& counts) {
  fail<FormatError>(
      "data: nothing to learn from: of {} documents {} are not valid, {} too long, and "
      "{} "
      "have no token to predict",
      counts.documents,
      counts.bad,
      counts.dropped,
      counts.without_label);
}

}  // namespace titan::data
