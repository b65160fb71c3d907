#include "titan/text/bpe.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "titan/base/rng.h"

namespace titan::text {
namespace {

using Ids = std::vector<int32_t>;

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
      const Bpe::Merge merge{vocabulary.at(left), vocabulary.at(right), entry->second};
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
      for (uint64_t i = rng.next_below(120); i > 0; --i) {
        piece += static_cast<char>('a' + rng.next_below(3));
      }
      const Ids expected = slow_encode(piece, model.vocabulary, model.merges);
      for (int time = 0; time < 2; ++time) {  // the second time from the cache
        Ids ids{-1};
        bpe.encode(piece, ids);
        ids.erase(ids.begin());
        ASSERT_EQ(ids, expected) << "seed " << seed << ": " << piece;
      }
    }
  }
}

TEST(Bpe, LongRunsEqualTheDefinition) {
  const Vocabulary vocabulary{{"x", 0}, {"xx", 1}, {"xxx", 2}, {"xxxxx", 3}};
  const std::vector<Bpe::Merge> merges{{0, 0, 1}, {1, 0, 2}, {1, 2, 3}};
  const Bpe bpe(vocabulary, merges, {}, {});
  for (const size_t length : {63U, 64U, 65U, 1000U, 4096U}) {
    const std::string piece(length, 'x');
    Ids ids;
    bpe.encode(piece, ids);
    EXPECT_EQ(ids, slow_encode(piece, vocabulary, merges)) << length;
  }
}

}  // namespace
}  // namespace titan::text
