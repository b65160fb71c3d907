#include "titan/text/regex_syntax.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <tuple>
#include <utility>

#include "titan/text/utf8.h"

namespace titan::text {
namespace {

using Kind = RegexNode::Kind;

// Thrown within this file where the pattern leaves the subset.
struct OutsideSubset {};

constexpr int kMaxRepeat = 1000;
constexpr int kMaxDepth = 64;

// Recursive descent over the pattern, one method a level of its grammar.
class Parser {
 public:
  explicit Parser(std::string_view pattern) : rest_(pattern) {}

  RegexNode parse() {
    RegexNode tree = choice();
    if (!rest_.empty()) {
      throw OutsideSubset();  // a parenthesis too many
    }
    return tree;
  }

 private:
  [[nodiscard]] bool at(std::string_view text) const { return rest_.starts_with(text); }

  bool take(std::string_view text) {
    if (!at(text)) {
      return false;
    }
    rest_.remove_prefix(text.size());
    return true;
  }

  char32_t take_character() {
    if (rest_.empty() || next_utf8(rest_).kind != Utf8Kind::kWhole) {
      throw OutsideSubset();
    }
    const size_t size = next_utf8(rest_).size;
    const char32_t point = code_point(rest_, size);
    rest_.remove_prefix(size);
    return point;
  }

  RegexNode choice() {
    if (++depth_ > kMaxDepth) {
      throw OutsideSubset();
    }
    std::vector<RegexNode> parts;
    do {
      parts.push_back(sequence());
    } while (take("|"));
    --depth_;
    if (parts.size() == 1) {
      return std::move(parts[0]);
    }
    return {.kind = Kind::kChoice, .parts = std::move(parts)};
  }

  RegexNode sequence() {
    RegexNode node{.kind = Kind::kSequence};
    while (!rest_.empty() && !at("|") && !at(")")) {
      node.parts.push_back(quantified());
    }
    return node;
  }

  RegexNode quantified() {
    RegexNode node = atom();
    while (true) {
      int least = 0;
      int most = RegexNode::kNoLimit;
      if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (at("{")) {
        std::tie(least, most) = counts();
      } else if (!take("*")) {
        return node;
      }
      const bool greedy = !take("?");
      if (at("+") || node.kind == Kind::kRepeat || node.kind == Kind::kLookahead) {
        throw OutsideSubset();  // possessive, or a quantifier of no character
      }
      RegexNode repeat{
          .kind = Kind::kRepeat, .least = least, .most = most, .greedy = greedy};
      repeat.parts.push_back(std::move(node));
      node = std::move(repeat);
    }
  }

  int number() {
    int value = 0;
    size_t digits = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = std::min(value * 10 + (rest_[0] - '0'), kMaxRepeat + 1);
      rest_.remove_prefix(1);
      ++digits;
    }
    if (digits == 0 || value > kMaxRepeat) {
      throw OutsideSubset();
    }
    return value;
  }

  // {n}, {n,} or {n,m}.
  std::pair<int, int> counts() {
    take("{");
    const int least = number();
    int most = least;
    if (take(",")) {
      most = at("}") ? RegexNode::kNoLimit : number();
    }
    if (!take("}") || (most != RegexNode::kNoLimit && most < least)) {
      throw OutsideSubset();
    }
    return {least, most};
  }

  RegexNode atom() {
    if (take("(")) {
      return group();
    }
    if (take("[")) {
      return {.kind = Kind::kSet, .set = character_class()};
    }
    CodePointSet set;
    if (take(".")) {
      set = CodePointSet::of('\n', '\n');
      set.complement();
    } else if (at("^") || at("$") || at("*") || at("+") || at("?") || at("{")) {
      throw OutsideSubset();
    } else if (take("\\")) {
      set = escape();
    } else {
      const char32_t point = take_character();
      set = CodePointSet::of(point, point);
    }
    if (ignore_case_) {
      set.close_over_case();
    }
    return {.kind = Kind::kSet, .set = std::move(set)};
  }

  RegexNode group() {
    const bool negated = take("?!");
    if (negated || take("?=")) {
      return lookahead(negated);
    }
    const bool outer_case = ignore_case_;
    if (take("?i:")) {
      ignore_case_ = true;
    } else if (!take("?:") && at("?")) {
      throw OutsideSubset();
    }
    RegexNode inner = choice();
    ignore_case_ = outer_case;
    if (!take(")")) {
      throw OutsideSubset();
    }
    return inner;
  }

  // After "(?!" or "(?=".
  RegexNode lookahead(bool negated) {
    RegexNode inner = choice();
    if (!take(")") || inner.kind != Kind::kSequence || inner.parts.size() != 1 ||
        inner.parts[0].kind != Kind::kSet) {
      throw OutsideSubset();
    }
    return {
        .kind = Kind::kLookahead,
        .set = std::move(inner.parts[0].set),
        .negated = negated};
  }

  // After the backslash.
  CodePointSet escape() {
    const char32_t letter = take_character();
    CodePointSet set;
    switch (letter) {
      case 's':
      case 'S':
        set = CodePointSet::property("White_Space").value();
        break;
      case 'd':
      case 'D':
        set = CodePointSet::property("Nd").value();
        break;
      case 'w':
      case 'W':
        set = CodePointSet::word();
        break;
      case 'p':
      case 'P':
        set = property();
        break;
      case 'n':
        return CodePointSet::of('\n', '\n');
      case 'r':
        return CodePointSet::of('\r', '\r');
      case 't':
        return CodePointSet::of('\t', '\t');
      default:
        if (letter > 0x7F || std::isalnum(static_cast<int>(letter)) != 0) {
          throw OutsideSubset();
        }
        return CodePointSet::of(letter, letter);
    }
    if (letter == 'S' || letter == 'D' || letter == 'W' || letter == 'P') {
      set.complement();
    }
    return set;
  }

  // After \p or \P: {Name} or one letter.
  CodePointSet property() {
    std::string name;
    if (take("{")) {
      const size_t end = rest_.find('}');
      if (end == std::string_view::npos) {
        throw OutsideSubset();
      }
      name = rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
    } else {
      name = static_cast<char>(take_character());
    }
    std::optional<CodePointSet> set = CodePointSet::property(name);
    if (!set) {
      throw OutsideSubset();
    }
    return *set;
  }

  // After the opening bracket.
  CodePointSet character_class() {
    if (++depth_ > kMaxDepth || at("]") || at("^]") || at("[:")) {
      throw OutsideSubset();
    }
    const bool negated = take("^");
    CodePointSet set = class_items();
    while (take("&&")) {
      set.intersect(class_items());
    }
    if (!take("]")) {
      throw OutsideSubset();
    }
    --depth_;
    if (ignore_case_) {
      set.close_over_case();  // before the negation
    }
    if (negated) {
      set.complement();
    }
    return set;
  }

  // Up to the closing bracket or &&.
  CodePointSet class_items() {
    std::vector<CodePointSet::Interval> intervals;
    const auto add = [&](const CodePointSet& set) {
      intervals.insert(intervals.end(), set.intervals().begin(), set.intervals().end());
    };
    while (!rest_.empty() && !at("]") && !at("&&")) {
      if (take("[")) {
        add(character_class());
        continue;
      }
      const CodePointSet first = class_item();
      if (!at("-") || at("-]")) {
        add(first);
        continue;
      }
      take("-");
      const CodePointSet last = class_item();
      const char32_t low = only_member(first);
      const char32_t high = only_member(last);
      if (low > high) {
        throw OutsideSubset();
      }
      intervals.emplace_back(low, high);
    }
    return CodePointSet(std::move(intervals));
  }

  CodePointSet class_item() {
    if (take("\\")) {
      return escape();
    }
    const char32_t point = take_character();
    return CodePointSet::of(point, point);
  }

  static char32_t only_member(const CodePointSet& set) {
    if (set.intervals().size() != 1 ||
        set.intervals()[0].first != set.intervals()[0].second) {
      throw OutsideSubset();  // a range between classes
    }
    return set.intervals()[0].first;
  }

  std::string_view rest_;
  bool ignore_case_ = false;
  int depth_ = 0;
};

}  // namespace

std::optional<RegexNode> parse_regex(std::string_view pattern) {
  try {
    return Parser(pattern).parse();
  } catch (const OutsideSubset&) {
    return std::nullopt;
  }
}

}  // namespace titan::text
