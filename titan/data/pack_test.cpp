#include "titan/data/pack.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/data/fit_packer.h"
#include "titan/data/pack_fixture.h"

namespace titan::data {
namespace {

TEST(SplitPacker, FillsRowsAndGoesOnInTheNext) {
  const PackCase test{{{5, 6, 7}, {8, 9, 10, 11}}, 1, {.tokens = 4}};
  const auto packer = packer_of(test);
  EXPECT_EQ(next_row(*packer), (Batch{{5, 6, 8, 9}, {6, 7, 9, 10}, {2, 2}}));
  EXPECT_EQ(packer->cursor(), (PackCursor{{1}, 2, {.documents = 1}, 0}));
  EXPECT_EQ(
      next_row(*packer),
      (Batch{{10, 0, 0, 0}, {11, kNoLabel, kNoLabel, kNoLabel}, {1, 3}}));
  EXPECT_EQ(packer->cursor(), (PackCursor{{2}, 0, {.documents = 2}, 3}));
  EXPECT_EQ(next_row(*packer), std::nullopt);
  EXPECT_EQ(next_row(*packer), std::nullopt);
}

TEST(SplitPacker, CutsDocumentsLongerThanTheContext) {
  const PackCase test{
      {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10}}, 1, {.tokens = 8, .context = 3}};
  EXPECT_EQ(
      rows_of(test),
      (std::vector<Batch>{
          {{1, 2, 3, 4, 5, 6, 7, 9}, {2, 3, 4, 5, 6, 7, 8, 10}, {3, 3, 1, 1}}}));
}

TEST(SplitPacker, RowsRunOverTheEndOfAnEpoch) {
  const PackCase test{{{1, 2, 3}}, 0, {.tokens = 3}};
  const auto packer = packer_of(test);
  EXPECT_EQ(next_row(*packer), (Batch{{1, 2, 1}, {2, 3, 2}, {2, 1}}));
  EXPECT_EQ(packer->cursor(), (PackCursor{{1}, 1, {.documents = 1}, 0}));
}

// Filling is documents of its own, known by its place: id 0 may also be a word.
TEST(Packer, FillingKeepsToTheContextAndHasNoLabels) {
  const PackCase test{{{0, 0}}, 1, {.tokens = 8, .context = 3}};
  const std::vector<Batch> rows = rows_of(test);
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].document_lengths, (Values{1, 3, 3, 1}));
  EXPECT_EQ(rows[0].labels[0], 0) << "a token 0 of a document is learnt";
  EXPECT_EQ(std::ranges::count(rows[0].labels, kNoLabel), 7);
  EXPECT_EQ(filling_row(test.options).labels, Values(8, kNoLabel));
}

TEST(Packer, RefusesIdsBeyondTheVocabulary) {
  for (const int32_t id : {-1, 1 << 20}) {
    const PackCase test{{{1, 2, id}}, 1, {.tokens = 4}};
    try {
      (void)rows_of(test);
      FAIL();
    } catch (const FormatError& error) {
      EXPECT_EQ(
          error.what(),
          fmt::format(
              "data: token id {} is not in the model's vocabulary of 1048576", id));
    }
  }
}

TEST(Packer, RefusesACursorBeyondItsDocuments) {
  PackCase test{{{1, 2, 3}}, 1, {.tokens = 4}};
  EXPECT_THROW((void)next_row(*packer_of(test, {{0}, 2, {}, 0})), FormatError);
  test.options.packing = Packing::kBestFit;
  EXPECT_THROW((void)next_row(*packer_of(test, {{0}, 1, {}, 0})), FormatError);
}

struct Pair {
  int64_t input;
  int64_t label;

  auto operator<=>(const Pair&) const = default;
};

// Every (input, label) of the rows, sorted: no two tokens of the documents are equal.
std::vector<Pair> pairs_of(const std::vector<Batch>& rows) {
  std::vector<Pair> pairs;
  for (const Batch& row : rows) {
    for (size_t i = 0; i < row.tokens.size(); ++i) {
      if (row.labels[i] != kNoLabel) {
        pairs.push_back({row.tokens[i], row.labels[i]});
      }
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

void expect_whole_rows(const std::vector<Batch>& rows, const PackOptions& options) {
  for (const Batch& row : rows) {
    ASSERT_EQ(std::ssize(row.tokens), options.tokens);
    ASSERT_EQ(std::ssize(row.labels), options.tokens);
    ASSERT_EQ(
        std::reduce(row.document_lengths.begin(), row.document_lengths.end()),
        options.tokens);
    for (const int64_t length : row.document_lengths) {
      ASSERT_GT(length, 0);
      ASSERT_LE(length, options.max_piece());
    }
  }
}

TEST(Packer, SplitKeepsEveryTokenExactlyOnceWithItsOwnLabel) {
  const std::vector<Ids> documents = distinct_documents(23);
  std::vector<Pair> expected;
  for (const Ids& document : documents) {
    for (size_t i = 0; i + 1 < document.size(); ++i) {
      expected.push_back({document[i], document[i + 1]});
    }
  }
  std::ranges::sort(expected);
  for (const Packing packing : {Packing::kSplit, Packing::kFirstFit, Packing::kBestFit}) {
    for (const int64_t window : {1, 5, 100}) {
      for (int64_t tokens = 1; tokens <= 40; tokens += 3) {
        for (const int64_t context : {0, 1, 5, 100}) {
          const PackCase test{
              documents,
              1,
              {.tokens = tokens,
               .context = context,
               .packing = packing,
               .window = window}};
          const std::vector<Batch> rows = rows_of(test);
          ASSERT_NO_FATAL_FAILURE(expect_whole_rows(rows, test.options));
          ASSERT_EQ(pairs_of(rows), expected) << tokens << " " << context;
        }
      }
    }
  }
}

// At every row of every packing: a packer that starts there gives the same rows and the
// same cursors, and going past a row is the same as making it.
TEST(Packer, GoesOnFromEveryCursor) {
  for (const Packing packing : {Packing::kSplit, Packing::kFirstFit, Packing::kBestFit}) {
    for (const OverLong over_long :
         {OverLong::kSplit, OverLong::kTruncate, OverLong::kDrop}) {
      const PackCase test{
          distinct_documents(9),
          3,
          {.tokens = 7, .context = 4, .packing = packing, .window = 6, .seed = 3},
          over_long};
      const auto whole = packer_of(test);
      PackCursor cursor{.used = {0}};
      int64_t rows = 0;
      for (bool more = true; more; ++rows) {
        const auto resumed = packer_of(test, cursor);
        const auto passed = packer_of(test, cursor);
        const std::optional<Batch> expected = next_row(*whole);
        more = expected.has_value();
        ASSERT_EQ(next_row(*resumed), expected) << rows;
        ASSERT_EQ(passed->next(nullptr), more);
        ASSERT_EQ(resumed->cursor(), whole->cursor()) << rows;
        ASSERT_EQ(passed->cursor(), whole->cursor()) << rows;
        cursor = whole->cursor();
      }
      EXPECT_GT(rows, 5);
    }
  }
}

TEST(FitPacker, KeepsDocumentsWhole) {
  const PackCase test{
      distinct_documents(11),
      1,
      {.tokens = 16, .packing = Packing::kBestFit, .window = 100}};
  std::vector<int64_t> lengths;
  for (const Batch& row : rows_of(test)) {
    int64_t at = 0;
    for (const int64_t length : row.document_lengths) {
      if (row.labels[static_cast<size_t>(at)] != kNoLabel) {
        lengths.push_back(length);
      }
      at += length;
    }
  }
  std::ranges::sort(lengths);
  EXPECT_EQ(lengths, (Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

// A window of as many documents as an epoch has keeps epochs apart.
TEST(FitPacker, AWindowCountsTheDocumentsThatAreLeftOutToo) {
  const PackCase test{
      {{1, 2}, {3}, {4, 5, 6}},
      2,
      {.tokens = 4, .packing = Packing::kBestFit, .window = 3}};
  const std::vector<Batch> rows = rows_of(test);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(rows[0].document_lengths, (Values{1, 2, 1}));
  const auto packer = packer_of(test);
  (void)packer->next(nullptr);
  EXPECT_EQ(packer->counts(), (DocumentCounts{.documents = 3, .without_label = 1}));
}

TEST(FitPacker, RowsAreNotSortedByLength) {
  std::vector<Ids> documents;
  for (int32_t i = 0; i < 200; ++i) {
    documents.emplace_back(static_cast<size_t>(2 + i % 64), 1 + i);
  }
  const PackCase test{
      documents, 1, {.tokens = 64, .packing = Packing::kFirstFit, .window = 200}};
  std::vector<int64_t> longest;
  for (const Batch& row : rows_of(test)) {
    longest.push_back(std::ranges::max(row.document_lengths));
  }
  EXPECT_FALSE(std::ranges::is_sorted(longest, std::ranges::greater()));
}

std::vector<int64_t> random_lengths(uint64_t seed, size_t count, int64_t longest) {
  Rng random(seed);
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < count; ++i) {
    lengths.push_back(
        1 + static_cast<int64_t>(random.next_below(static_cast<uint64_t>(longest))));
  }
  return lengths;
}

size_t count_bins(const std::vector<size_t>& bins) {
  return *std::ranges::max_element(bins) + 1;
}

// The definitions, without the search structures.
std::vector<size_t> pack_plainly(
    const std::vector<int64_t>& lengths, int64_t capacity, Packing packing) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, std::ranges::greater(), [&](size_t i) { return lengths[i]; });
  std::vector<int64_t> room;
  std::vector<size_t> bins(lengths.size());
  for (const size_t i : order) {
    std::optional<size_t> chosen;
    for (size_t bin = 0; bin < room.size(); ++bin) {
      const bool better =
          !chosen || (packing == Packing::kBestFit && room[bin] < room[*chosen]);
      if (room[bin] >= lengths[i] && better) {
        chosen = bin;
      }
    }
    if (!chosen) {
      chosen = room.size();
      room.push_back(capacity);
    }
    room[*chosen] -= lengths[i];
    bins[i] = *chosen;
  }
  return bins;
}

TEST(PackLengths, IsWhatTheDefinitionsSay) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<int64_t> lengths = random_lengths(seed, 200, 100);
    for (const Packing packing : {Packing::kFirstFit, Packing::kBestFit}) {
      EXPECT_EQ(pack_lengths(lengths, 100, packing), pack_plainly(lengths, 100, packing))
          << seed;
    }
  }
}

TEST(PackLengths, BothFillBinsWell) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<int64_t> lengths = random_lengths(seed, 500, 1000);
    // No packing needs fewer bins than this.
    const int64_t least = std::max<int64_t>(
        std::reduce(lengths.begin(), lengths.end()) / 1000,
        std::ranges::count_if(lengths, [](int64_t length) { return length > 500; }));
    for (const Packing packing : {Packing::kFirstFit, Packing::kBestFit}) {
      const std::vector<size_t> bins = pack_lengths(lengths, 1000, packing);
      std::vector<int64_t> used(count_bins(bins), 0);
      for (size_t i = 0; i < lengths.size(); ++i) {
        used[bins[i]] += lengths[i];
      }
      EXPECT_LE(std::ranges::max(used), 1000);
      EXPECT_LE(std::ssize(used), least * 104 / 100) << seed;
    }
  }
}

TEST(PackLengths, TakesNoTimeForManyLengths) {
  const std::vector<int64_t> lengths = random_lengths(1, 300'000, 4096);
  for (const Packing packing : {Packing::kFirstFit, Packing::kBestFit}) {
    EXPECT_GT(count_bins(pack_lengths(lengths, 4096, packing)), 100'000);
  }
}

// Field case P03: rows of a length that is no power of two are packed as well.
TEST(PackLengths, P03AnyRowLength) {
  const std::vector<int64_t> lengths(30, 5);
  const std::vector<std::pair<int64_t, size_t>> expected = {
      {10, 15}, {11, 15}, {16, 10}, {17, 10}};
  for (const auto& [capacity, bins] : expected) {
    for (const Packing packing : {Packing::kFirstFit, Packing::kBestFit}) {
      EXPECT_EQ(count_bins(pack_lengths(lengths, capacity, packing)), bins) << capacity;
    }
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<int64_t> random = random_lengths(seed, 100, 1025);
    EXPECT_LE(
        count_bins(pack_lengths(random, 1025, Packing::kBestFit)),
        count_bins(pack_lengths(random, 1025, Packing::kFirstFit)))
        << seed;
  }
}

}  // namespace
}  // namespace titan::data
