#include "titan/text/added_tokens.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "titan/base/rng.h"

namespace titan::text {
namespace {

// The definition, literally: at each place the longest spelling that the text goes on
// with.
std::vector<int32_t> slow_cut(
    const std::string& text, const std::vector<AddedTokenMatcher::Entry>& entries) {
  std::vector<int32_t> result;  // -1: one byte of text
  for (size_t at = 0; at < text.size();) {
    const AddedTokenMatcher::Entry* best = nullptr;
    for (const AddedTokenMatcher::Entry& entry : entries) {
      if (text.compare(at, entry.spelling.size(), entry.spelling) == 0 &&
          (best == nullptr || entry.spelling.size() > best->spelling.size())) {
        best = &entry;
      }
    }
    result.push_back(best == nullptr ? -1 : best->token.id);
    at += best == nullptr ? 1 : best->spelling.size();
  }
  return result;
}

TEST(AddedTokens, TheLeftmostLongestMatches) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed, "added tokens");
    const auto random_text = [&](uint64_t size) {
      std::string text;
      for (uint64_t i = 0; i < size; ++i) {
        text += static_cast<char>('a' + rng.next_below(3));
      }
      return text;
    };
    std::vector<AddedTokenMatcher::Entry> entries;
    std::vector<std::string> spellings;
    for (int32_t id = 0; id < 12; ++id) {
      const std::string spelling = random_text(2 + rng.next_below(5));
      if (std::ranges::find(spellings, spelling) == spellings.end()) {
        spellings.push_back(spelling);
        entries.push_back({{.id = id, .content = spelling}, spelling});
      }
    }
    const AddedTokenMatcher matcher(entries);
    for (int round = 0; round < 100; ++round) {
      const std::string text = random_text(1 + rng.next_below(40));
      std::vector<int32_t> result;
      std::string joined;
      for (const Stretch& stretch : matcher.cut(text)) {
        joined += stretch.text;
        result.insert(
            result.end(),
            stretch.token ? 1 : stretch.text.size(),
            stretch.token.value_or(-1));
      }
      ASSERT_EQ(joined, text);
      ASSERT_EQ(result, slow_cut(text, entries)) << "seed " << seed << ": " << text;
    }
  }
}

TEST(AddedTokens, MatchOnlyWithinMarkedRanges) {
  const AddedTokenMatcher matcher(
      {{{.id = 1, .content = "<s>"}, "<s>"}, {{.id = 2, .content = "<s><s>"}, "<s><s>"}});
  const auto cut = [&](std::vector<Range> marked) {
    std::vector<int32_t> ids;
    for (const Stretch& stretch : matcher.cut("<s><s><s>", marked)) {
      ids.push_back(stretch.token.value_or(0));
    }
    return ids;
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(cut({{0, 9}}), (Ids{2, 1}));
  EXPECT_EQ(cut({}), (Ids{0}));
  EXPECT_EQ(cut({{0, 5}}), (Ids{1, 0}));
  EXPECT_EQ(cut({{1, 9}}), (Ids{0, 2}));
  EXPECT_EQ(cut({{0, 3}, {3, 6}, {7, 9}}), (Ids{1, 1, 0}));
}

}  // namespace
}  // namespace titan::text
