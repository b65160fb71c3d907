#pragma once
// Cutting pieces at delimiters, and what becomes of those.

#include <string>
#include <string_view>
#include <vector>

#include "titan/text/pre_tokenizer.h"

namespace titan::text {

enum class SplitBehavior {
  kIsolated,            // each delimiter is a piece
  kRemoved,             // dropped
  kMergedWithPrevious,  // the end of the piece before
  kMergedWithNext,      // the start of the piece after
  kContiguous           // neighbouring delimiters are one piece
};

// From "Isolated", "Removed", ... FormatError names any other.
[[nodiscard]] SplitBehavior parse_split_behavior(
    const std::string& name, const std::string& where);

// Appends the non-empty pieces of `whole`. REQUIRES: `delimiters` in order, inside
// `whole`. `invert`: what lies between the delimiters is what is cut at.
void split_at(
    const Range& whole,
    const std::vector<Range>& delimiters,
    SplitBehavior behavior,
    bool invert,
    std::vector<Range>& pieces);

// Cuts each piece at the delimiters that `find(text, found)` appends.
template <class Find>
void split_each(Pieces& pieces, SplitBehavior behavior, bool invert, Find find) {
  std::vector<Range> ranges;
  std::vector<Range> found;
  for (const Range& piece : pieces.ranges) {
    found.clear();
    find(pieces.piece(piece), found);
    for (Range& range : found) {
      range = {piece.begin + range.begin, piece.begin + range.end};
    }
    split_at(piece, found, behavior, invert, ranges);
  }
  pieces.ranges = std::move(ranges);
}

}  // namespace titan::text
