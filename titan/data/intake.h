#pragma once
// The examples that can be packed, and a count of what became of the others.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "titan/data/config.h"
#include "titan/data/example.h"
#include "titan/data/example_stream.h"

namespace titan::data {

// Of documents that had their turn, in all epochs.
struct DocumentCounts {
  int64_t documents = 0;      // all, those below too
  int64_t bad = 0;            // left out: not valid
  int64_t dropped = 0;        // left out: too long
  int64_t without_label = 0;  // left out: nothing to learn, perhaps after truncation
  int64_t truncated = 0;

  bool operator==(const DocumentCounts&) const = default;
};

struct IntakeLimits {
  int64_t max_inputs = 0;  // longest document, > 0
  OverLong over_long = OverLong::kSplit;
  std::vector<int64_t> part_sizes;  // documents of an epoch, by part
};

// Not thread-safe.
class Intake {
 public:
  using Source = std::function<std::optional<Arrival>()>;

  // `used` documents of each part and `counts` are what came before the source's first.
  Intake(
      Source source,
      IntakeLimits limits,
      std::vector<int64_t> used,
      const DocumentCounts& counts);

  // The next example with a label, cut to max_inputs where over_long says truncate;
  // nullopt at the end. FormatError: every document of every part was left out since the
  // last one.
  [[nodiscard]] std::optional<Example> next();

  [[nodiscard]] const std::vector<int64_t>& used() const { return used_; }

  [[nodiscard]] const DocumentCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool accept(Example& example);
  void refuse_endless_search(size_t part);

  Source source_;
  IntakeLimits limits_;
  std::vector<int64_t> used_;
  DocumentCounts counts_;
  std::vector<int64_t> left_out_;  // of each part since the last example
};

// Says that documents that were counted so hold nothing to learn.
[[noreturn]] void fail_nothing_to_learn(const DocumentCounts& counts);

}  // namespace titan::data
