#include "titan/data/pack.h"

#include <numeric>

#include <gtest/gtest.h>

#include "titan/base/error.h"

namespace titan::data {
namespace {

using Document = std::vector<int32_t>;
using Values = std::vector<int64_t>;

DocumentStream stream_of(std::vector<Document> documents, int64_t epochs) {
  const auto size = std::ssize(documents);
  return {size, epochs, [documents = std::move(documents)](int64_t, int64_t place) {
            return documents[static_cast<size_t>(place)];
          }};
}

// Documents of all lengths from 0 to `longest`, no two tokens of which are equal.
std::vector<Document> distinct_documents(int32_t longest) {
  std::vector<Document> documents;
  int32_t next = 1;
  for (int32_t length = 0; length <= longest; ++length) {
    Document document(static_cast<size_t>(length));
    std::iota(document.begin(), document.end(), next);
    next += length;
    documents.push_back(document);
  }
  return documents;
}

TEST(Packer, FillsRowsAndGoesOnInTheNext) {
  Packer packer({.tokens = 4}, stream_of({{5, 6, 7}, {8, 9, 10, 11}}, 1));
  EXPECT_EQ(packer.next(), (Batch{{5, 6, 8, 9}, {6, 7, 9, 10}, {2, 2}}));
  EXPECT_EQ(packer.cursor(), (Cursor{0, 1, 2}));
  EXPECT_EQ(
      packer.next(), (Batch{{10, 0, 0, 0}, {11, kNoLabel, kNoLabel, kNoLabel}, {1, 3}}));
  EXPECT_EQ(packer.next(), std::nullopt);
  EXPECT_EQ(packer.next(), std::nullopt);
}

TEST(Packer, CutsDocumentsLongerThanTheContext) {
  Packer packer(
      {.tokens = 8, .context = 3}, stream_of({{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10}}, 1));
  EXPECT_EQ(
      packer.next(),
      (Batch{{1, 2, 3, 4, 5, 6, 7, 9}, {2, 3, 4, 5, 6, 7, 8, 10}, {3, 3, 1, 1}}));
  EXPECT_EQ(packer.next(), std::nullopt);
}

TEST(Packer, FillingKeepsToTheContext) {
  Packer packer({.tokens = 8, .context = 3}, stream_of({{1, 2}}, 1));
  EXPECT_EQ(packer.next()->document_lengths, (Values{1, 3, 3, 1}));
  EXPECT_EQ(packer.filling().labels, Values(8, kNoLabel));
}

TEST(Packer, RowsRunOverTheEndOfAnEpoch) {
  Packer packer({.tokens = 3}, stream_of({{1, 2, 3}}, 0));
  EXPECT_EQ(packer.next(), (Batch{{1, 2, 1}, {2, 3, 2}, {2, 1}}));
  EXPECT_EQ(packer.cursor(), (Cursor{1, 0, 1}));
}

TEST(Packer, UsesEveryInputOnceWithItsOwnLabel) {
  const std::vector<Document> documents = distinct_documents(23);
  for (int64_t tokens = 1; tokens <= 40; tokens += 3) {
    for (const int64_t context : {0, 1, 5, 100}) {
      Packer packer({tokens, context}, stream_of(documents, 1));
      Values inputs;
      Values labels;
      while (const std::optional<Batch> row = packer.next()) {
        ASSERT_EQ(std::ssize(row->tokens), tokens);
        ASSERT_EQ(
            std::reduce(row->document_lengths.begin(), row->document_lengths.end()),
            tokens);
        for (size_t i = 0; i < row->tokens.size(); ++i) {
          if (row->labels[i] != kNoLabel) {
            inputs.push_back(row->tokens[i]);
            labels.push_back(row->labels[i]);
          }
        }
        for (const int64_t length : row->document_lengths) {
          ASSERT_GT(length, 0);
          ASSERT_LE(length, context == 0 ? tokens : context);
        }
      }
      Values expected_inputs;
      Values expected_labels;
      for (const Document& document : documents) {
        for (size_t i = 0; i + 1 < document.size(); ++i) {
          expected_inputs.push_back(document[i]);
          expected_labels.push_back(document[i + 1]);
        }
      }
      ASSERT_EQ(inputs, expected_inputs) << tokens << " " << context;
      ASSERT_EQ(labels, expected_labels) << tokens << " " << context;
    }
  }
}

TEST(Packer, GoesOnFromEveryCursor) {
  const std::vector<Document> documents = distinct_documents(9);
  Packer whole({.tokens = 7, .context = 4}, stream_of(documents, 3));
  Cursor cursor;
  for (int step = 0; step < 100; ++step) {
    Packer resumed({.tokens = 7, .context = 4}, stream_of(documents, 3), cursor);
    const std::optional<Batch> expected = whole.next();
    ASSERT_EQ(resumed.next(), expected) << step;
    ASSERT_EQ(resumed.cursor(), whole.cursor()) << step;
    if (!expected) {
      EXPECT_GT(step, 10);
      return;
    }
    cursor = whole.cursor();
  }
  FAIL() << "no end";
}

TEST(Packer, RefusesDataWithoutInputs) {
  Packer packer({.tokens = 4}, stream_of({{1}, {}, {2}}, 0));
  try {
    (void)packer.next();
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_STREQ(error.what(), "none of the 3 documents has two tokens or more");
  }
}

TEST(Packer, RefusesACursorBeyondItsDocument) {
  Packer packer({.tokens = 4}, stream_of({{1, 2, 3}}, 1), {0, 0, 3});
  EXPECT_THROW((void)packer.next(), FormatError);
}

}  // namespace
}  // namespace titan::data
