#include "titan/text/split_behavior.h"

#include <algorithm>
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

// Joins a stretch to the one before it where `joins(before, stretch)`.
template <class Joins>
std::vector<Range> join(const std::vector<Stretch>& parts, Joins joins) {
  std::vector<Range> pieces;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && joins(parts[i - 1].delimiter, parts[i].delimiter)) {
      pieces.back().end = parts[i].range.end;
    } else {
      pieces.push_back(parts[i].range);
    }
  }
  return pieces;
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

std::vector<Range> split_at(
    const Range& whole,
    const std::vector<Range>& delimiters,
    SplitBehavior behavior,
    bool invert) {
  std::vector<Stretch> parts = stretches(whole, delimiters, invert);
  std::vector<Range> pieces;
  switch (behavior) {
    case SplitBehavior::kRemoved:
      std::erase_if(parts, [](const Stretch& part) { return part.delimiter; });
      [[fallthrough]];
    case SplitBehavior::kIsolated:
      pieces = join(parts, [](bool, bool) { return false; });
      break;
    case SplitBehavior::kMergedWithPrevious:
      pieces = join(parts, [](bool before, bool here) { return here && !before; });
      break;
    case SplitBehavior::kMergedWithNext:
      pieces = join(parts, [](bool before, bool here) { return before && !here; });
      break;
    case SplitBehavior::kContiguous:
      pieces = join(parts, [](bool before, bool here) { return before == here; });
      break;
  }
  std::erase_if(pieces, [](const Range& piece) { return piece.begin == piece.end; });
  return pieces;
}

}  // namespace titan::text
