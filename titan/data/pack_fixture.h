#pragma once
// For tests: packers over documents of given ids.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "titan/data/pack.h"

namespace titan::data {

using Ids = std::vector<int32_t>;
using Values = std::vector<int64_t>;

struct PackCase {
  std::vector<Ids> documents;
  int64_t epochs = 1;  // 0: no end
  PackOptions options;
  OverLong over_long = OverLong::kSplit;
};

// The documents in their order, from the place that `start` says.
inline std::unique_ptr<Packer> packer_of(
    const PackCase& test, PackCursor start = {.used = {0}}) {
  const auto size = std::ssize(test.documents);
  PackOptions options = test.options;
  options.vocab_size = 1 << 20;
  Intake intake(
      [&test, size, place = start.used[0]]() mutable -> std::optional<Arrival> {
        if (test.epochs > 0 && place == test.epochs * size) {
          return std::nullopt;
        }
        return Arrival{Example(test.documents[static_cast<size_t>(place++ % size)]), 0};
      },
      {options.context == 0 ? options.tokens : options.context, test.over_long, {size}},
      start.used,
      start.counts);
  return make_packer(options, std::move(intake), std::move(start));
}

inline std::optional<Batch> next_row(Packer& packer) {
  Batch batch;
  return packer.next(&batch) ? std::optional(std::move(batch)) : std::nullopt;
}

inline std::vector<Batch> rows_of(const PackCase& test) {
  const auto packer = packer_of(test);
  std::vector<Batch> rows;
  while (std::optional<Batch> row = next_row(*packer)) {
    rows.push_back(std::move(*row));
  }
  return rows;
}

// Documents of all lengths from 0 to `longest`, no two tokens of which are equal.
inline std::vector<Ids> distinct_documents(int32_t longest) {
  std::vector<Ids> documents;
  int32_t next = 1;
  for (int32_t length = 0; length <= longest; ++length) {
    Ids document;
    for (int32_t i = 0; i < length; ++i) {
      document.push_back(next++);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace titan::data
