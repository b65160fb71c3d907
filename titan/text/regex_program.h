#pragma once
// A regular expression as a nondeterministic program (Thompson 1968), with the
// alternatives of a backtracking matcher in their order of preference.

#include <cstdint>
#include <optional>
#include <vector>

#include "titan/text/regex_syntax.h"

namespace titan::text {

struct RegexInstruction {
  enum class Kind : uint8_t {
    kSet,        // takes one character of sets[set], goes to `next`
    kSplit,      // goes to `next`, or to `other` where that fails
    kLookahead,  // goes to `next` where the next character is (not) in sets[set]
    kMatch
  };

  Kind kind = Kind::kMatch;
  bool negated = false;
  uint32_t set = 0;
  uint32_t next = 0;
  uint32_t other = 0;
};

struct RegexProgram {
  std::vector<RegexInstruction> instructions;
  std::vector<CodePointSet> sets;
  uint32_t start = 0;
};

// nullopt where the program would be too long, or where the expression or a repeated part
// of it matches the empty text: there, backtracking matchers have rules of their own.
[[nodiscard]] std::optional<RegexProgram> make_regex_program(const RegexNode& tree);

}  // namespace titan::text
