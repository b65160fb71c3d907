#include "titan/text/regex.h"

#include <unicode/uchar.h>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/text/split_patterns.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

using Matches = std::vector<std::string>;

Matches matches(const Regex& regex, const std::string& text) {
  std::vector<Range> found;
  regex.find_all(text, found);
  Matches result;
  size_t end = 0;
  for (const Range& range : found) {
    EXPECT_LE(end, range.begin);
    end = range.end;
    result.push_back(text.substr(range.begin, range.size()));
  }
  return result;
}

Matches matches(const std::string& pattern, const std::string& text) {
  const auto automaton = make_regex_automaton(pattern, "p");
  EXPECT_NE(automaton, nullptr) << pattern;
  return automaton ? matches(*automaton, text) : Matches();
}

// Mostly what the patterns tell apart, sometimes any character that PCRE2's Unicode
// version (14) has.
std::string random_text(Rng& rng) {
  constexpr std::string_view kParts[] = {
      " ",          "  ",      "\n",           "\r\n",   "\t",     "'",      "s",
      "'s",         "'LL",     "'re",          "a",      "Z",      "word",   "The",
      "7",          "123",     "4567",         ".",      "!?",     "/",      "_",
      "\u00E9",     "e\u0301", "\u4E2D\u6587", "\u3042", "\u017F", "\u212A", "\u00A0",
      "\u3000",     "\u0660",  "\u00BD",       "\u2167", "\u01C5", "\u02B0", "\u20AC",
      "\U0001F600", "\u200D",  "\u1100",       "\u0E01", "\u2014"};
  std::string text;
  for (uint64_t i = rng.next_below(30); i > 0; --i) {
    if (rng.next_below(8) > 0) {
      text += kParts[rng.next_below(std::size(kParts))];
      continue;
    }
    const auto point = static_cast<char32_t>(rng.next_below(0x110000));
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(point), age);
    if (age[0] > 0 && age[0] <= 14 && (point < 0xD800 || point > 0xDFFF)) {
      append_utf8(text, point);
    }
  }
  return text;
}

TEST(Regex, AutomataEqualPcre2) {
  std::vector<std::string> patterns{
      kLlama3Pattern,
      kQwen2Pattern,
      kQwen35Pattern,
      kO200kPattern,
      kTekkenPattern,
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+(?=[\r\n])|\s)",
      R"(\s+(?!\S)|\w+?[a-z]|\W{2,4}|.)",
      R"((?:a|ab)(?:c|bcd|\p{Lu}?)(?:d*|\S)|\d{2,3}?[^\D7]*)",
      "(?i:the|WORD)+x?|[A-Za-z\u00E9-\u00FF&]+(?!\\d)",
      R"([\p{P}\$\+<=>\^~\|]+)"};
  patterns.insert(
      patterns.end(), std::begin(kDeepSeek3Patterns), std::end(kDeepSeek3Patterns));
  for (const std::string& pattern : patterns) {
    const auto automaton = make_regex_automaton(pattern, "p");
    ASSERT_NE(automaton, nullptr) << pattern;
    const auto pcre = make_pcre_regex(pattern, "p");
    Rng rng(1, pattern);
    for (int round = 0; round < 2000; ++round) {
      const std::string text = random_text(rng);
      ASSERT_EQ(matches(*automaton, text), matches(*pcre, text)) << pattern << "\n"
                                                                 << text;
    }
  }
}

// PCRE2 has no intersections, so Kimi's pattern is written out for it.
TEST(Regex, IntersectionsEqualTheirDefinition) {
  const auto automaton =
      make_regex_automaton(R"([\p{L}\p{N}&&[^\p{Han}a-f]&&[^z]]+)", "p");
  const auto pcre = make_pcre_regex(R"((?:(?![\p{Han}a-fz])[\p{L}\p{N}])+)", "p");
  ASSERT_NE(automaton, nullptr);
  EXPECT_NE(make_regex_automaton(kKimiPattern, "p"), nullptr);
  Rng rng(1, "intersection");
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(rng);
    ASSERT_EQ(matches(*automaton, text), matches(*pcre, text)) << text;
  }
}

TEST(Regex, PrefersWhatABacktrackingMatcherPrefers) {
  EXPECT_EQ(matches("a|ab", "abab"), (Matches{"a", "a"}));
  EXPECT_EQ(matches("(?:a|ab)(?:c|bcd)", "abcd"), (Matches{"abcd"}));
  EXPECT_EQ(matches("a+?", "aaa"), (Matches{"a", "a", "a"}));
  EXPECT_EQ(matches("a{2,3}", "aaaaaaa"), (Matches{"aaa", "aaa"}));
  EXPECT_EQ(matches("a{2,3}?b?", "aaab"), (Matches{"aa"}));
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+)", "a   b  "), (Matches{"  ", " ", "  "}));
  EXPECT_EQ(matches("a(?=b)|ab", "ab aa"), (Matches{"a"}));
  EXPECT_EQ(matches("(?i:k)", "kK\u212A"), (Matches{"k", "K", "\u212A"}));
  EXPECT_EQ(matches("[^a-c]", "abd\n"), (Matches{"d", "\n"}));
  EXPECT_EQ(matches(".", "a\nb"), (Matches{"a", "b"}));
}

TEST(Regex, LeavesTheRestToPcre2) {
  for (const char* pattern :
       {"^a",
        "a$",
        "(a)\\1",
        "(?<=a)b",
        "(?=ab)a",
        "a++",
        "(?>a)",
        "\\bword",
        "a*",
        "(a*)*b",
        "(?:a|b*)+c",
        "[[:alpha:]]",
        "(?i)a",
        "\\x41",
        "a{1000}{1000}",
        "(?:a{1000}b{1000}){1000}"}) {
    EXPECT_EQ(make_regex_automaton(pattern, "p"), nullptr) << pattern;
  }
  EXPECT_EQ(matches(*make_regex("(?<=a)b|^c", "p"), "ab\ncb"), (Matches{"b", "c"}));
  EXPECT_EQ(matches(*make_regex("a*", "p"), "aab"), (Matches{"aa", "", ""}));
}

TEST(Regex, ClassesAreThoseOfTheReference) {
  for (const auto& make : {make_pcre_regex, make_regex_automaton}) {
    EXPECT_EQ(
        matches(*make(R"(\w+)", "p"), "a_\u00BD\u0301 \u24B6-"),
        (Matches{"a_\u00BD\u0301", "\u24B6"}));
    EXPECT_EQ(matches(*make(R"([\w-]+)", "p"), "\u00B2-+"), (Matches{"\u00B2-"}));
    EXPECT_EQ(matches(*make(R"(\s)", "p"), "\u180E\u0085"), (Matches{"\u0085"}));
    EXPECT_EQ(matches(*make(R"(\W)", "p"), "a-"), (Matches{"-"}));
  }
  EXPECT_EQ(
      matches(*make_pcre_regex("[[:punct:]]", "p"), "a+\u20AC\u2014"),
      (Matches{"+", "\u20AC", "\u2014"}));
}

TEST(Regex, RefusesWhatIsNoPattern) {
  for (const char* pattern : {"(a", "[a", "a)", "*a", "\\p{Nonsense}", "[z-a]"}) {
    EXPECT_THROW((void)make_regex(pattern, "p"), FormatError) << pattern;
  }
}

// An automaton that reads far ahead at each place stops with an error.
TEST(Regex, AQuadraticPatternIsAnErrorNotAHang) {
  const auto automaton = make_regex_automaton("a+b|a", "p");
  ASSERT_NE(automaton, nullptr);
  std::vector<Range> found;
  try {
    automaton->find_all(std::string(100'000, 'a'), found);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(
        std::string(error.what()).find("p: the pattern failed at byte"),
        0U + std::string::npos);
  }
}

}  // namespace
}  // namespace titan::text
