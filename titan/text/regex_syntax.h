#pragma once
// The regular expressions of tokenizers as trees.

#include <optional>
#include <string_view>
#include <vector>

#include "titan/text/code_point_set.h"

namespace titan::text {

struct RegexNode {
  enum class Kind {
    kSet,        // one character of `set`
    kSequence,   // the parts one after another; none: the empty text
    kChoice,     // the first part that leads to a match
    kRepeat,     // the only part `least` to `most` times
    kLookahead,  // no text; the next character is (not) in `set`, or the text ends
  };

  static constexpr int kNoLimit = -1;

  Kind kind = Kind::kSequence;
  CodePointSet set;
  std::vector<RegexNode> parts;
  int least = 0;
  int most = 0;          // kNoLimit: any number
  bool greedy = true;    // of a kRepeat: as often as possible first
  bool negated = false;  // of a kLookahead: the next character is not in `set`
};

// The tree of `pattern`, which is UTF-8 and means what it means to the reference
// implementations. nullopt where it uses more than: literals, escapes, classes with
// properties, ranges, negation and &&, groups (their number is not kept), (?i:...),
// alternatives, greedy and lazy quantifiers, and a lookahead for one character.
[[nodiscard]] std::optional<RegexNode> parse_regex(std::string_view pattern);

}  // namespace titan::text
