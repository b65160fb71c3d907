#pragma once
// What becomes of the delimiters when a Split pre-tokenizer cuts text at them.

#include <cstddef>
#include <string>
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

// The non-empty pieces of `whole`. REQUIRES: `delimiters` in order, inside `whole`.
// `invert`: what lies between the delimiters is what is cut at.
[[nodiscard]] std::vector<Range> split_at(
    const Range& whole,
    const std::vector<Range>& delimiters,
    SplitBehavior behavior,
    bool invert = false);

}  // namespace titan::text
