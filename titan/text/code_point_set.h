#pragma once
// Sets of Unicode code points, as the classes of regular expressions name them.

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace titan::text {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Immutable in use; copies are as large as their number of ranges.
class CodePointSet {
 public:
  using Interval = std::pair<char32_t, char32_t>;  // both ends included

  CodePointSet() = default;

  // In any order; they may overlap.
  explicit CodePointSet(std::vector<Interval> intervals);

  [[nodiscard]] static CodePointSet of(char32_t first, char32_t last) {
    return CodePointSet({{first, last}});
  }

  // A property as \p{...} names it: a general category ("L", "Lu", "P"), a script ("Han")
  // or a binary one ("White_Space"). nullopt: none of these.
  [[nodiscard]] static std::optional<CodePointSet> property(std::string_view name);

  // What \w matches: Alphabetic, marks, decimal digits, connector punctuation, and the
  // numbers of Latin-1.
  [[nodiscard]] static const CodePointSet& word();

  void add(const CodePointSet& other);
  // With everything that differs from a member only in case (simple case folding).
  void close_over_case();
  void complement();
  void intersect(const CodePointSet& other);

  [[nodiscard]] bool contains(char32_t point) const;

  // In order, neither touching nor overlapping.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  std::vector<Interval> intervals_;
};

}  // namespace titan::text
