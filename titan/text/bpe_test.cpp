#include "titan/text/bpe.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "titan/base/rng.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

Ids encode(const Bpe& bpe, const std::string& piece) {
  Ids ids;
  const Range whole{0, piece.size()};
  bpe.encode(piece, {&whole, 1}, ids);
  return ids;
}

// The definition, literally: look for the best merge in the whole word, join, repeat.
Ids slow_encode(
    const std::string& piece,
    const Vocabulary& vocabulary,
    std::span<const Bpe::Merge> merges) {
  Ids ids;
  for (const char c : piece) {
    ids.push_back(vocabulary.at(std::string(1, c)));
  }
  while (true) {
    size_t best = merges.size();
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) {
          best = rank;
          best_at = i;
        }
      }
    }
    if (best == merges.size()) {
      return ids;
    }
    ids[best_at] = merges[best].joined;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

// A random set of merges over three letters; tokens may be reached in several ways.
struct RandomModel {
  explicit RandomModel(uint64_t seed) {
    Rng rng(seed, "bpe");
    std::vector<std::string> tokens{"a", "b", "c"};
    for (size_t i = 0; i < tokens.size(); ++i) {
      vocabulary[tokens[i]] = static_cast<int32_t>(i);
    }
    for (int i = 0; i < 40; ++i) {
      const std::string& left = tokens[rng.next_below(tokens.size())];
      const std::string& right = tokens[rng.next_below(tokens.size())];
      const std::string joined = left + right;
      const auto [entry, added] =
          vocabulary.emplace(joined, static_cast<int32_t>(tokens.size()));
      const Bpe::Merge merge{
          vocabulary.at(left),
          vocabulary.at(right),
          entry->second,
          static_cast<int32_t>(merges.size())};
      if (added) {
        tokens.push_back(joined);
      }
      const bool known = std::ranges::any_of(merges, [&](const Bpe::Merge& other) {
        return other.left == merge.left && other.right == merge.right;
      });
      if (!known) {
        merges.push_back(merge);
      }
    }
  }

  Vocabulary vocabulary;
  std::vector<Bpe::Merge> merges;
};

TEST(Bpe, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomModel model(seed);
    const Bpe bpe(model.vocabulary, model.merges, {}, {});
    Rng rng(seed, "words");
    for (int word = 0; word < 50; ++word) {
      std::string piece;
      for (uint64_t i = 1 + rng.next_below(120); i > 0; --i) {
        piece += static_cast<char>('a' + rng.next_below(3));
      }
      const Ids expected = slow_encode(piece, model.vocabulary, model.merges);
      for (int time = 0; time < 2; ++time) {  // the second time from the cache
        ASSERT_EQ(encode(bpe, piece), expected) << "seed " << seed << ": " << piece;
      }
    }
  }
}

TEST(Bpe, LongRunsEqualTheDefinition) {
  const Vocabulary vocabulary{{"x", 0}, {"xx", 1}, {"xxx", 2}, {"xxxxx", 3}};
  const std::vector<Bpe::Merge> merges{{0, 0, 1, 0}, {1, 0, 2, 1}, {1, 2, 3, 2}};
  const Bpe bpe(vocabulary, merges, {}, {});
  for (const size_t length : {63U, 64U, 65U, 1000U, 4096U}) {
    const std::string piece(length, 'x');
    EXPECT_EQ(encode(bpe, piece), slow_encode(piece, vocabulary, merges)) << length;
  }
}

// Pieces of any length are merged alike, whichever way is taken for it.
TEST(Bpe, ShortAndLongPiecesEqualTheDefinition) {
  const RandomModel model(7);
  const Bpe bpe(model.vocabulary, model.merges, {}, {});
  Rng rng(7, "lengths");
  for (size_t length = 1; length < 110; ++length) {
    std::string piece;
    while (piece.size() < length) {
      piece += static_cast<char>('a' + rng.next_below(3));
    }
    ASSERT_EQ(encode(bpe, piece), slow_encode(piece, model.vocabulary, model.merges));
  }
}

TEST(Bpe, TimeIsLinear) {
  const Vocabulary vocabulary{{"x", 0}, {"xx", 1}, {"xxxx", 2}, {"xxxxxxxx", 3}};
  const std::vector<Bpe::Merge> merges{{0, 0, 1, 0}, {1, 1, 2, 1}, {2, 2, 3, 2}};
  const Bpe bpe(vocabulary, merges, {}, {});
  EXPECT_EQ(encode(bpe, std::string(size_t{1} << 20, 'x')).size(), size_t{1} << 17);
}

TEST(Bpe, RanksOfTokensGiveAllMerges) {
  const std::vector<RankedToken> tokens{
      {"a", 0, 0}, {"b", 1, 1}, {"ab", 2, 2}, {"bb", 3, 3}, {"abb", 4, 4}};
  const auto merges = merges_of_ranked_tokens(tokens);
  std::vector<std::array<int32_t, 4>> found;
  for (const Bpe::Merge& merge : merges) {
    found.push_back({merge.left, merge.right, merge.joined, merge.rank});
  }
  EXPECT_EQ(
      found,
      (std::vector<std::array<int32_t, 4>>{
          {0, 1, 2, 2}, {1, 1, 3, 3}, {0, 3, 4, 4}, {2, 1, 4, 4}}));
}

TEST(Bpe, UnknownCharacters) {
  Vocabulary vocabulary{{"a", 0}, {"<unk>", 1}};
  const std::string text = "a\u00E9\u00E9a";
  EXPECT_EQ(encode(Bpe(vocabulary, {}, {}, {}), text), (Ids{0, 0}));
  EXPECT_EQ(encode(Bpe(vocabulary, {}, {.unk_id = 1}, {}), text), (Ids{0, 1, 1, 0}));
  const BpeOptions fused{.unk_id = 1, .fuse_unk = true};
  EXPECT_EQ(encode(Bpe(vocabulary, {}, fused, {}), text), (Ids{0, 1, 0}));
  // Byte fallback needs all bytes of the character.
  const BpeOptions fallback{.unk_id = 1, .byte_fallback = true};
  vocabulary["<0xC3>"] = 2;
  EXPECT_EQ(encode(Bpe(vocabulary, {}, fallback, {}), text), (Ids{0, 1, 1, 0}));
  vocabulary["<0xA9>"] = 3;
  EXPECT_EQ(encode(Bpe(vocabulary, {}, fallback, {}), text), (Ids{0, 2, 3, 2, 3, 0}));
}

// A text without a pre-tokenizer is cut before marks where no token reaches across; the
// ids are those of the whole.
TEST(Bpe, CutsAtMarksChangeNoIds) {
  const std::string mark = "\u2581";
  Vocabulary vocabulary{
      {"a", 0}, {"b", 1}, {mark, 2}, {mark + "a", 3}, {mark + mark, 4}, {"ab", 5}};
  const std::vector<Bpe::Merge> merges{{2, 0, 3, 0}, {2, 2, 4, 1}, {0, 1, 5, 2}};
  const Bpe cut(vocabulary, merges, {}, {});
  vocabulary["b" + mark] = 6;  // a token that reaches across, though no merge makes it
  const Bpe whole(vocabulary, merges, {}, {});
  Rng rng(1, "marks");
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (uint64_t i = 1 + rng.next_below(60); i > 0; --i) {
      constexpr std::string_view kParts[] = {"a", "b", "\u2581", "\u2596"};
      text += kParts[rng.next_below(4)];
    }
    ASSERT_EQ(encode(cut, text), encode(whole, text)) << text;
  }
}

}  // namespace
}  // namespace titan::text
