#include "titan/text/split_behavior.h"

#include <string_view>
#include <utility>

#include "titan/base/error.h"

namespace titan::text {
namespace {

struct Stretch {
  Range range;
  bool delimiter;
};

// `whole` as an alternation of text and delimiters without gaps.
std::vector<Stretch> stretches(
    const Range& whole, const std::vector<Range>& delimiters, bool invert) {
  std::vector<Stretch> result;
  size_t end = whole.begin;
  for (const Range& delimiter : delimiters) {
    if (delimiter.begin > end) {
      result.push_back({{end, delimiter.begin}, invert});
    }
    result.push_back({delimiter, !invert});
    end = delimiter.end;
  }
  if (whole.end > end) {
    result.push_back({{end, whole.end}, invert});
  }
  return result;
}

// Appends the stretches, each joined to the one before it where `joins(before, stretch)`.
template <class Joins>
void join(const std::vector<Stretch>& parts, Joins joins, std::vector<Range>& pieces) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && joins(parts[i - 1].delimiter, parts[i].delimiter)) {
      pieces.back().end = parts[i].range.end;
    } else {
      pieces.push_back(parts[i].range);
    }
  }
}

// The most frequent case, without a list of stretches.
void isolate(
    const Range& whole,
    const std::vector<Range>& delimiters,
    std::vector<Range>& pieces) {
  const auto append = [&](size_t begin, size_t end) {
    if (begin < end) {
      pieces.push_back({begin, end});
    }
  };
  size_t end = whole.begin;
  for (const Range& delimiter : delimiters) {
    append(end, delimiter.begin);
    append(delimiter.begin, delimiter.end);
    end = delimiter.end;
  }
  append(end, whole.end);
}

}  // namespace

SplitBehavior parse_split_behavior(const std::string& name, const std::string& where) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [known, behavior] : kNames) {
    if (known == name) {
      return behavior;
    }
  }
  fail<FormatError>(
      "{}: behavior \"{}\" is not supported (known: Isolated, Removed, "
      "MergedWithPrevious, MergedWithNext, Contiguous)",
      where,
      name);
}

void split_at(
    const Range& whole,
    const std::vector<Range>& delimiters,
    SplitBehavior behavior,
    bool invert,
    std::vector<Range>& pieces) {
  if (behavior == SplitBehavior::kIsolated) {
    isolate(whole, delimiters, pieces);
    return;
  }
  const std::vector<Stretch> parts = stretches(whole, delimiters, invert);
  std::vector<Range> joined;
  switch (behavior) {
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kRemoved:
      for (const Stretch& part : parts) {
        if (!part.delimiter) {
          joined.push_back(part.range);
        }
      }
      break;
    case SplitBehavior::kMergedWithPrevious:
      join(
          parts, [](bool before, bool here) { return here && !before; }, joined);
      break;
    case SplitBehavior::kMergedWithNext:
      join(
          parts, [](bool before, bool here) { return before && !here; }, joined);
      break;
    case SplitBehavior::kContiguous:
      join(
          parts, [](bool before, bool here) { return before == here; }, joined);
      break;
  }
  for (const Range& piece : joined) {
    if (piece.begin < piece.end) {
      pieces.push_back(piece);
    }
  }
}

}  // namespace titan::text
