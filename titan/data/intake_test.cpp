#include "titan/data/intake.h"

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/data/batch.h"
#include "titan/data/pack_fixture.h"

namespace titan::data {
namespace {

// `length` ids from 1 on, of which those from `first_target` on are learnt.
Example chat_example(int32_t length, int32_t first_target) {
  Ids ids;
  std::vector<uint8_t> targets;
  for (int32_t i = 0; i < length; ++i) {
    ids.push_back(i + 1);
    targets.push_back(i >= first_target ? 1 : 0);
  }
  return Example(std::move(ids), std::move(targets));
}

// One example, then the end.
Intake intake_of(Example example, int64_t max_inputs, OverLong over_long) {
  auto shared = std::make_shared<std::optional<Example>>(std::move(example));
  return Intake(
      [shared]() -> std::optional<Arrival> {
        if (!*shared) {
          return std::nullopt;
        }
        Arrival arrival{std::move(*shared), 0};
        shared->reset();
        return arrival;
      },
      {max_inputs, over_long, {2}},
      {0},
      {});
}

// Field case P05: the length that counts is the whole document's.
TEST(Intake, P05DropMeansTheWholeDocument) {
  Intake drop = intake_of(Example(Ids(12, 1)), 8, OverLong::kDrop);
  EXPECT_FALSE(drop.next());
  EXPECT_EQ(drop.counts(), (DocumentCounts{.documents = 1, .dropped = 1}));
  Intake fits = intake_of(Example(Ids(9, 1)), 8, OverLong::kDrop);
  EXPECT_EQ(fits.next()->num_inputs(), 8);
  EXPECT_EQ(fits.counts(), (DocumentCounts{.documents = 1}));
}

TEST(Intake, SplitLeavesLongDocumentsAlone) {
  Intake split = intake_of(Example(Ids(12, 1)), 8, OverLong::kSplit);
  EXPECT_EQ(split.next()->num_inputs(), 11);
  EXPECT_EQ(split.counts(), (DocumentCounts{.documents = 1}));
}

// Field case P10, and C08: a cut answer gets no EOS; the mask is that of the ids kept.
TEST(Intake, P10TruncationAddsAndReplacesNothing) {
  Intake cut = intake_of(chat_example(12, 4), 7, OverLong::kTruncate);
  const std::optional<Example> example = cut.next();
  ASSERT_TRUE(example);
  const auto ids = example->ids();
  EXPECT_EQ(Ids(ids.begin(), ids.end()), (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  Values labels;
  for (int64_t i = 0; i < example->num_inputs(); ++i) {
    labels.push_back(example->label(i));
  }
  EXPECT_EQ(labels, (Values{kNoLabel, kNoLabel, kNoLabel, 5, 6, 7, 8}));
  EXPECT_EQ(cut.counts(), (DocumentCounts{.documents = 1, .truncated = 1}));
}

// Field case P06, the data's part: a prompt of 20 tokens and an answer of 3, cut at 16,
// has nothing to learn and does not reach a row; it is counted.
TEST(Intake, P06NothingLeftToLearn) {
  Intake cut = intake_of(chat_example(23, 20), 15, OverLong::kTruncate);
  EXPECT_FALSE(cut.next());
  EXPECT_EQ(
      cut.counts(), (DocumentCounts{.documents = 1, .without_label = 1, .truncated = 1}));
  // One token of the answer is enough.
  EXPECT_TRUE(intake_of(chat_example(23, 20), 20, OverLong::kTruncate).next());
}

TEST(Intake, DocumentsOfOneTokenHaveNothingToLearn) {
  Intake one = intake_of(Example(Ids{5}), 8, OverLong::kSplit);
  EXPECT_FALSE(one.next());
  EXPECT_EQ(one.counts(), (DocumentCounts{.documents = 1, .without_label = 1}));
}

TEST(Intake, AnEpochWithNothingToLearnIsRefused) {
  int64_t calls = 0;
  Intake endless(
      [&]() -> std::optional<Arrival> {
        const size_t part = ++calls % 3 == 0 ? 1 : 0;
        if (part == 1) {
          return Arrival{std::nullopt, part};
        }
        return Arrival{Example(Ids(calls % 2 == 0 ? 1 : 20, 1)), part};
      },
      {8, OverLong::kDrop, {4, 2}},
      {0, 0},
      {});
  try {
    (void)endless.next();
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_STREQ(
        error.what(),
        "data: nothing to learn from: of 6 documents 2 are not valid, 2 too long, and 2 "
        "have no token to predict");
  }
}

}  // namespace
}  // namespace titan::data
