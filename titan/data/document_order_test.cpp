#include "titan/data/document_order.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "titan/data/source_files.h"
#include "titan/data/test_folder.h"

namespace titan::data {
namespace {

class Order : public TestFolder {
 protected:
  // Three files of 5, 1 and 20 documents, each the text of its number.
  void open(const char* ending) {
    int next = 0;
    for (const int size : {5, 1, 20}) {
      std::vector<std::string> texts;
      for (int i = 0; i < size; ++i) {
        texts.push_back(std::to_string(next++));
      }
      const std::string lines = jsonl(texts);
      const std::string name = fmt::format("{}.jsonl{}", size, ending);
      put(name, std::string(ending).empty() ? lines : gzip(lines));
      sources_.push_back({.path = (folder_ / name).string()});
    }
    files_ = open_sources(sources_, {});
  }

  [[nodiscard]] std::unique_ptr<DocumentOrder> order(const OrderOptions& options) const {
    std::vector<const IndexedFile*> indexed;
    std::vector<const StreamedFile*> streamed;
    for (const SourceFile& file : files_) {
      indexed.push_back(file.indexed.get());
      streamed.push_back(file.streamed.get());
    }
    return files_[0].indexed ? order_indexed(indexed, options)
                             : order_streamed(streamed, options);
  }

  static std::vector<int> take(DocumentOrder& order, int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) {
      numbers.push_back(std::stoi(std::get<std::string>(order.next().read())));
    }
    return numbers;
  }

  std::vector<SourceConfig> sources_;
  std::vector<SourceFile> files_;
};

std::vector<int> sorted(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class BothOrders : public Order, public testing::WithParamInterface<const char*> {};

TEST_P(BothOrders, WithoutShuffleItIsTheFiles) {
  open(GetParam());
  const auto in_order = order({.shuffle = false, .buffer = 7});
  EXPECT_EQ(in_order->size(), 26);
  EXPECT_EQ(take(*in_order, 26), first_numbers(26));
  EXPECT_EQ(take(*in_order, 26), first_numbers(26));
}

TEST_P(BothOrders, EveryEpochHasEveryDocumentOnceInANewOrder) {
  open(GetParam());
  const auto shuffled = order({.seed = 3, .buffer = 7});
  const auto first = take(*shuffled, 26);
  const auto second = take(*shuffled, 26);
  EXPECT_EQ(sorted(first), first_numbers(26));
  EXPECT_EQ(sorted(second), first_numbers(26));
  EXPECT_NE(first, first_numbers(26));
  EXPECT_NE(first, second);
  EXPECT_EQ(take(*order({.seed = 3, .buffer = 7}), 26), first);
  EXPECT_NE(take(*order({.seed = 4, .buffer = 7}), 26), first);
}

TEST_P(BothOrders, SeekGoesAnywhere) {
  open(GetParam());
  const auto whole = take(*order({.seed = 3, .buffer = 7}), 80);
  const auto moved = order({.seed = 3, .buffer = 7});
  for (const int used : {0, 1, 25, 26, 27, 51, 52, 70, 13}) {
    moved->seek(used);
    EXPECT_EQ(
        take(*moved, 10),
        std::vector<int>(whole.begin() + used, whole.begin() + used + 10))
        << used;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, BothOrders, testing::Values("", ".gz"));

TEST_F(Order, TheBufferBoundsHowFarARecordComesEarly) {
  open(".gz");
  // Behind 7 records at most: the buffer holds the next of the file order only.
  const auto shuffled = order({.seed = 3, .buffer = 3});
  const auto numbers = take(*shuffled, 26);
  // One file follows another, so its numbers stay together up to the buffer.
  std::vector<int> file_of;
  for (const int number : numbers) {
    file_of.push_back(number < 5 ? 0 : number < 6 ? 1 : 2);
  }
  int changes = 0;
  for (size_t i = 1; i < file_of.size(); ++i) {
    changes += file_of[i] != file_of[i - 1] ? 1 : 0;
  }
  EXPECT_LE(changes, 8);
  EXPECT_EQ(sorted(numbers), first_numbers(26));
}

TEST_F(Order, AFileThatShrinksIsNoticed) {
  open(".gz");
  put("20.jsonl.gz", gzip(jsonl({"20"})));
  const auto in_order = order({.shuffle = false});
  EXPECT_EQ(
      refusal([&] { (void)take(*in_order, 26); }),
      "epoch 0 ended after 7 of 26 records: a file has changed since it was opened");
}

}  // namespace
}  // namespace titan::data
