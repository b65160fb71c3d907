#include "titan/text/unigram.h"

#include <limits>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

Ids encode(const Unigram& unigram, const std::string& text) {
  Ids ids;
  const Range whole{0, text.size()};
  unigram.encode(text, {&whole, 1}, ids);
  return ids;
}

// The best sum of scores over all ways to cut `text`.
double best_score(const std::string& text, const std::vector<UnigramToken>& tokens) {
  if (text.empty()) {
    return 0;
  }
  double best = -std::numeric_limits<double>::infinity();
  for (const UnigramToken& token : tokens) {
    if (text.starts_with(token.text)) {
      best = std::max(
          best, token.score + best_score(text.substr(token.text.size()), tokens));
    }
  }
  return best;
}

TEST(Unigram, FindsTheBestCut) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, "unigram");
    std::vector<UnigramToken> tokens;
    for (const char* text : {"a", "b", "ab", "ba", "aab", "bb", "abab", "bbab"}) {
      tokens.push_back({text, -1.0 - rng.uniform_at(tokens.size()) * 9.0});
    }
    const Unigram unigram(tokens, {});
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (uint64_t i = 1 + rng.next_below(12); i > 0; --i) {
        text += static_cast<char>('a' + rng.next_below(2));
      }
      double score = 0;
      std::string joined;
      for (const int32_t id : encode(unigram, text)) {
        score += tokens[static_cast<size_t>(id)].score;
        joined += tokens[static_cast<size_t>(id)].text;
      }
      ASSERT_EQ(joined, text);
      ASSERT_NEAR(score, best_score(text, tokens), 1e-9) << text;
    }
  }
}

TEST(Unigram, UnknownStretches) {
  const std::vector<UnigramToken> tokens{
      {"<unk>", 0}, {"a", -1}, {"<0xC3>", 0}, {"<0xA9>", 0}};
  EXPECT_EQ(encode(Unigram(tokens, {.unk_id = 0}), "a\u00E9\u00E9a"), (Ids{1, 0, 1}));
  EXPECT_EQ(
      encode(Unigram(tokens, {.unk_id = 0, .byte_fallback = true}), "\u00E9a\u00E8"),
      (Ids{2, 3, 1, 0}));
  try {
    (void)encode(Unigram(tokens, {}), "a\u00E9");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "no token covers \"\u00E9\", and the tokenizer has no unknown token");
  }
}

TEST(Unigram, TimeIsLinear) {
  const Unigram unigram({{"x", -2.0}, {"xxxx", -3.0}}, {});
  EXPECT_EQ(encode(unigram, std::string(size_t{1} << 20, 'x')).size(), size_t{1} << 18);
}

TEST(Unigram, RefusesBadVocabularies) {
  const auto refusal = [](const Json& parts) {
    Json node = {{"type", "Unigram"}, {"vocab", Json::array({Json::array({"a", -1.0})})}};
    node.update(parts);
    try {
      (void)make_unigram(node, "m", {});
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(
      refusal({{"vocab", 1}}), "m: expected a list \"vocab\" of tokens with scores");
  EXPECT_EQ(
      refusal({{"vocab", Json::array({Json::array({"a"})})}}),
      "m.vocab.0: expected [token, score], got [\"a\"]");
  EXPECT_EQ(
      refusal(
          {{"vocab", Json::array({Json::array({"a", 0.0}), Json::array({"a", 1.0})})}}),
      "m.vocab.1: token \"a\" occurs twice");
  EXPECT_EQ(refusal({{"unk_id", 1}}), "m: unk_id: 1 is not one of 1 ids");
}

}  // namespace
}  // namespace titan::text
