#include "titan/text/code_point_set.h"

#include <algorithm>
#include <unicode/uniset.h>
#include <unicode/unistr.h>
#include <utility>

#include "titan/base/error.h"

namespace titan::text {
namespace {

CodePointSet from_icu(const icu::UnicodeSet& set) {
  std::vector<CodePointSet::Interval> intervals;
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    intervals.emplace_back(set.getRangeStart(i), set.getRangeEnd(i));
  }
  return CodePointSet(std::move(intervals));
}

icu::UnicodeString to_icu(std::string_view name) {
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(name.data(), static_cast<int32_t>(name.size())));
}

}  // namespace

CodePointSet::CodePointSet(std::vector<Interval> intervals) {
  std::ranges::sort(intervals);
  for (const auto& [first, last] : intervals) {
    if (!intervals_.empty() && first <= intervals_.back().second + 1) {
      intervals_.back().second = std::max(intervals_.back().second, last);
    } else {
      intervals_.emplace_back(first, last);
    }
  }
}

std::optional<CodePointSet> CodePointSet::property(std::string_view name) {
  icu::UnicodeSet set;
  const icu::UnicodeString value = to_icu(name);
  for (const char* property : {"gc", "sc"}) {
    UErrorCode status = U_ZERO_ERROR;
    set.applyPropertyAlias(to_icu(property), value, status);
    if (U_SUCCESS(status)) {
      return from_icu(set);
    }
  }
  // Binary properties stand alone.
  UErrorCode status = U_ZERO_ERROR;
  set.applyPropertyAlias(value, {}, status);
  return U_SUCCESS(status) ? std::optional(from_icu(set)) : std::nullopt;
}

const CodePointSet& CodePointSet::word() {
  static const CodePointSet set = [] {
    CodePointSet all;
    for (const std::string_view part : {"Alphabetic", "M", "Nd", "Pc"}) {
      all.add(property(part).value());
    }
    // Oniguruma, the reference's engine, has the numbers of Latin-1 too.
    all.add(CodePointSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}));
    return all;
  }();
  return set;
}

void CodePointSet::add(const CodePointSet& other) {
  std::vector<Interval> both = intervals_;
  both.insert(both.end(), other.intervals_.begin(), other.intervals_.end());
  *this = CodePointSet(std::move(both));
}

void CodePointSet::close_over_case() {
  icu::UnicodeSet set;
  for (const auto& [first, last] : intervals_) {
    set.add(static_cast<UChar32>(first), static_cast<UChar32>(last));
  }
  set.closeOver(USET_CASE_INSENSITIVE);
  set.removeAllStrings();  // "ss" for a sharp s and the like: not one code point
  *this = from_icu(set);
}

void CodePointSet::complement() {
  std::vector<Interval> gaps;
  char32_t next = 0;
  for (const auto& [first, last] : intervals_) {
    if (first > next) {
      gaps.emplace_back(next, first - 1);
    }
    next = last + 1;
  }
  if (next <= kLastCodePoint) {
    gaps.emplace_back(next, kLastCodePoint);
  }
  intervals_ = std::move(gaps);
}

void CodePointSet::intersect(const CodePointSet& other) {
  CodePointSet outside = other;
  outside.complement();
  complement();
  add(outside);
  complement();
}

bool CodePointSet::contains(char32_t point) const {
  const auto after = std::ranges::upper_bound(intervals_, point, {}, &Interval::first);
  return after != intervals_.begin() && std::prev(after)->second >= point;
}

}  // namespace titan::text
