#include "titan/data/loader.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "titan/data/source_files.h"
#include "titan/data/test_folder.h"

namespace titan::data {
namespace {

// Twelve documents of the letters a to l, of many lengths, and the byte tokenizer with
// BOS and EOS.
class LoaderTest : public TestFolder {
 protected:
  void SetUp() override {
    TestFolder::SetUp();
    std::vector<std::string> texts;
    for (int i = 0; i < 12; ++i) {
      texts.emplace_back(static_cast<size_t>(i * 7 % 19), static_cast<char>('a' + i));
    }
    put_jsonl("data.jsonl", texts);
  }

  [[nodiscard]] DataConfig config(int64_t epochs, int64_t prefetch) const {
    return {
        .sources = {{.path = (folder_ / "data.jsonl").string()}},
        .seed = 5,
        .epochs = epochs,
        .add_bos = true,
        .prefetch = prefetch};
  }

  static LoaderOptions options(int64_t rank = 0, int64_t world = 1) {
    return {
        .tokens_per_microbatch = 16,
        .context = 10,
        .vocab_size = 258,
        .rank = rank,
        .world = world};
  }

  static std::vector<Batch> rest_of(Loader& loader) {
    std::vector<Batch> batches;
    while (std::optional<Batch> batch = loader.next()) {
      batches.push_back(std::move(*batch));
    }
    return batches;
  }
};

TEST_F(LoaderTest, EveryDocumentOnceAnEpochInANewOrder) {
  Loader loader(config(3, 0), options(), tokenizer());
  std::string order;
  std::map<int64_t, int64_t> targets;
  for (const Batch& batch : rest_of(loader)) {
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      ++targets[batch.labels[i]];
      if (batch.tokens[i] == kBos) {
        order += batch.labels[i] == kEos ? '-' : static_cast<char>(batch.labels[i]);
      }
    }
  }
  ASSERT_EQ(order.size(), 36);
  EXPECT_NE(order.substr(0, 12), order.substr(12, 12));
  EXPECT_NE(order.substr(12, 12), order.substr(24, 12));
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    std::string sorted = order.substr(12 * epoch, 12);
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted, "-bcdefghijkl");  // document a is empty
  }
  EXPECT_EQ(targets[kEos], 36);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(targets['a' + i], 3 * (i * 7 % 19));
  }
}

TEST_F(LoaderTest, WithoutShuffleTheOrderIsTheFiles) {
  DataConfig in_order = config(1, 0);
  in_order.shuffle = false;
  in_order.add_bos = false;
  Loader loader(in_order, options(), tokenizer());
  const std::optional<Batch> first = loader.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->tokens[0], 'b');  // a has only EOS, so no input
  EXPECT_EQ(first->document_lengths, (std::vector<int64_t>{7, 9}));
}

TEST_F(LoaderTest, ResumesExactlyAtEveryBatch) {
  Loader reference(config(3, 0), options(), tokenizer());
  std::vector<Json> states{reference.state()};
  std::vector<Batch> batches;
  while (std::optional<Batch> batch = reference.next()) {
    batches.push_back(std::move(*batch));
    states.push_back(reference.state());
  }
  ASSERT_GT(batches.size(), 20);
  for (const int64_t prefetch : {0, 1, 4}) {
    Loader loader(config(3, prefetch), options(), tokenizer());
    for (size_t k = 0; k < states.size(); ++k) {
      loader.restore(parse_json(states[k].dump(), "state"));
      ASSERT_EQ(loader.state(), states[k]);
      const auto from = batches.begin() + static_cast<std::ptrdiff_t>(k);
      ASSERT_EQ(rest_of(loader), std::vector<Batch>(from, batches.end()))
          << "from batch " << k << " with prefetch " << prefetch;
      ASSERT_EQ(loader.next(), std::nullopt);
    }
  }
}

TEST_F(LoaderTest, StateIsThatOfTheBatchReturnedNotOfThePrefetched) {
  Loader ahead(config(0, 4), options(), tokenizer());
  Loader direct(config(0, 0), options(), tokenizer());
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(ahead.state(), direct.state()) << i;
    ASSERT_EQ(ahead.next(), direct.next()) << i;
  }
}

TEST_F(LoaderTest, RanksShareOneOrder) {
  Loader single(config(2, 0), options(), tokenizer());
  const std::vector<Batch> all = rest_of(single);
  constexpr int64_t kWorld = 4;
  ASSERT_NE(std::ssize(all) % kWorld, 0);  // so that the last group is not full
  std::vector<std::vector<Batch>> of_rank;
  std::vector<Json> states;
  for (int64_t rank = 0; rank < kWorld; ++rank) {
    Loader loader(config(2, 2), options(rank, kWorld), tokenizer());
    of_rank.push_back({*loader.next()});
    states.push_back(loader.state());
    std::ranges::move(rest_of(loader), std::back_inserter(of_rank.back()));
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
  for (size_t i = 0; i < of_rank[0].size() * kWorld; ++i) {
    const Batch& batch = of_rank[i % kWorld].at(i / kWorld);
    if (i < all.size()) {
      EXPECT_EQ(batch, all[i]);
    } else {
      EXPECT_EQ(batch.labels, std::vector<int64_t>(16, kNoLabel));
    }
  }
  EXPECT_EQ(of_rank[0].size(), of_rank[2].size());
  // Another number of ranks goes on from the same place.
  single.restore(states[0]);
  EXPECT_EQ(*single.next(), all[kWorld]);
}

TEST_F(LoaderTest, RefusesTheStateOfOtherData) {
  Loader loader(config(1, 0), options(), tokenizer());
  const Json good = loader.state();
  const auto refusal_with = [&](const char* pointer, const Json& value) {
    Json state = good;
    state[Json::json_pointer(pointer)] = value;
    return refusal([&] { loader.restore(state); });
  };
  EXPECT_EQ(
      refusal_with("/parts/0/documents", 11),
      "data position: parts.0.documents: it was made with 11, but here it is 12");
  EXPECT_EQ(
      refusal_with("/parts/0/fingerprint", "0").substr(0, 68),
      "data position: parts.0.fingerprint: it was made with \"0\", but here i");
  EXPECT_EQ(
      refusal_with("/parts", Json::array()),
      "data position: parts: it was made with 0, but here there are 1");
  EXPECT_EQ(
      refusal_with("/version", 1),
      "data position: version: it was made with 1, but here it is 2");
  EXPECT_EQ(
      refusal_with("/shuffle", false),
      "data position: shuffle: it was made with false, but here it is true");
  EXPECT_EQ(
      refusal_with("/seed", 6),
      "data position: seed: it was made with 6, but here it is 5");
  EXPECT_EQ(
      refusal_with("/packing", "best_fit"),
      "data position: packing: it was made with \"best_fit\", but here it is \"split\"");
  EXPECT_EQ(
      refusal_with("/used/0", 13),
      "data position: used.0: 13 is not a position in 1 epochs of 12 documents");
  EXPECT_EQ(
      refusal_with("/used", Json::array()),
      "data position: used: expected 1 numbers, got 0");
  EXPECT_EQ(
      refusal_with("/offset", "x"),
      "data position: offset: expected an integer, got \"x\"");
  EXPECT_EQ(
      refusal_with("/filling", -1), "data position: filling: expected >= 0, got -1");
  EXPECT_EQ(
      refusal_with("/counts", 3), "data position: counts: missing, expected an object");
  // A position in a window depends on what decides the window's rows.
  DataConfig fit = config(1, 0);
  fit.packing = Packing::kFirstFit;
  const Json window = Loader(fit, options(), tokenizer()).state();
  fit.packing_window = 5;
  EXPECT_EQ(
      refusal([&] { Loader(fit, options(), tokenizer()).restore(window); }),
      "data position: packing_window: it was made with 1024, but here it is 5");
}

TEST_F(LoaderTest, RefusesWhatDoesNotFit) {
  const auto refusal_with = [&](auto change) {
    DataConfig data = config(1, 0);
    LoaderOptions loader = options();
    change(data, loader);
    const text::Tokenizer bytes = tokenizer();
    return refusal([&] { Loader(data, loader, bytes); });
  };
  using Data = DataConfig;
  using Options = LoaderOptions;
  EXPECT_EQ(
      refusal_with([](Data&, Options& o) { o.vocab_size = 257; }),
      "tokenizer/tokenizer.json: token \"</s>\" has id 257, but the model's vocabulary "
      "has 257 entries");
  EXPECT_EQ(
      refusal_with([](Data&, Options& o) { o.tokens_per_microbatch = 0; }),
      "tokens_per_microbatch: expected > 0, got 0");
  EXPECT_EQ(
      refusal_with([](Data&, Options& o) { o.rank = 1; }),
      "rank: expected 0 .. 0, got 1");
  DataConfig data = config(1, 0);
  data.add_bos = true;
  EXPECT_EQ(
      refusal([&] {
        const Json json = text::byte_tokenizer_json();
        Loader(data, options(), text::Tokenizer::from_json(json, "plain"));
      }),
      "data.add_bos: plain has no BOS token");
}

// What only the tokenizer finds wrong. The first document is read when the loader is
// made.
TEST_F(LoaderTest, BadDocumentsAreNamedOrSkipped) {
  Json json = text::byte_tokenizer_json();
  json["pre_tokenizer"] = {
      {"type", "Split"},
      {"pattern", {{"Regex", "(b|bb)+$|(b*)*x"}}},
      {"behavior", "Isolated"}};
  const auto hostile = text::Tokenizer::from_json(json, "hostile");
  DataConfig data = config(1, 2);
  data.add_bos = data.add_eos = data.shuffle = false;
  put_jsonl("data.jsonl", {"ok", std::string(5000, 'b') + "c", "ok"});
  const std::string message = refusal([&] {
    Loader loader(data, options(), hostile);
    (void)rest_of(loader);
  });
  EXPECT_EQ(message.substr(0, message.find(": hostile")), "data.jsonl:2");
  data.bad_records = BadRecords::kSkip;
  Loader skips(data, options(), hostile);
  EXPECT_EQ(rest_of(skips).size(), 1);
  EXPECT_EQ(skips.counts(), (DocumentCounts{.documents = 3, .bad = 1}));
}

// Field case C10's rule for all kinds of data: refused at the start, not after a run that
// learnt nothing.
TEST_F(LoaderTest, DataWithNothingToLearnAreRefusedAtTheStart) {
  put_jsonl("data.jsonl", {"", ""});
  DataConfig data = config(0, 2);
  data.add_bos = false;
  EXPECT_EQ(
      refusal([&] { Loader(data, options(), tokenizer()); }),
      "data: nothing to learn from: of 2 documents 0 are not valid, 0 too long, and 2 "
      "have no token to predict");
  put_jsonl("data.jsonl", {"too long for the context"});
  data.over_long = OverLong::kDrop;
  EXPECT_EQ(
      refusal([&] { Loader(data, options(), tokenizer()); }),
      "data: nothing to learn from: of 1 documents 0 are not valid, 1 too long, and 0 "
      "have no token to predict");
}

// Field case P05 through the whole loader: the policy sees the length before any cut, and
// the count is in the position.
TEST_F(LoaderTest, P05TheCounterOfDroppedDocuments) {
  put_jsonl("data.jsonl", {"123456789012", "1234"});
  DataConfig data = config(1, 0);
  data.over_long = OverLong::kDrop;
  data.packing = Packing::kBestFit;
  data.add_bos = false;
  LoaderOptions eight = options();
  eight.tokens_per_microbatch = eight.context = 8;
  Loader loader(data, eight, tokenizer());
  const std::vector<Batch> batches = rest_of(loader);
  ASSERT_EQ(batches.size(), 1);
  EXPECT_EQ(batches[0].document_lengths, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(loader.counts(), (DocumentCounts{.documents = 2, .dropped = 1}));
  EXPECT_EQ(loader.filling(), 4);
}

TEST_F(LoaderTest, RowsThatAreNotCutBoundADocument) {
  put_jsonl("data.jsonl", {"0123456789abcdefghij"});
  DataConfig data = config(1, 0);
  data.add_bos = data.add_eos = false;
  data.over_long = OverLong::kTruncate;
  LoaderOptions eight = options();
  eight.tokens_per_microbatch = 8;
  Loader cut(data, eight, tokenizer());
  EXPECT_EQ(rest_of(cut).size(), 2) << "the context's 10 inputs, over two rows";
  data.packing = Packing::kBestFit;
  Loader whole(data, eight, tokenizer());
  EXPECT_EQ(rest_of(whole).size(), 1);
  EXPECT_EQ(whole.counts(), (DocumentCounts{.documents = 1, .truncated = 1}));
}

// Field case P01, the data's part: a document's tokens, labels and borders in a row do
// not depend on what it is packed with, and no label crosses a border.
TEST_F(LoaderTest, P01DocumentsOfARowAreApart) {
  for (const Packing packing : {Packing::kSplit, Packing::kBestFit}) {
    std::vector<Batch> rows;
    for (const char* first : {"567", "123"}) {
      put_jsonl("data.jsonl", {first, "89ab"});
      DataConfig data = config(1, 0);
      data.shuffle = data.add_bos = data.add_eos = false;
      data.packing = packing;
      LoaderOptions eight = options();
      eight.tokens_per_microbatch = 8;
      Loader loader(data, eight, tokenizer());
      rows.push_back(*loader.next());
    }
    EXPECT_EQ(rows[0].document_lengths, (std::vector<int64_t>{2, 3, 3}));
    EXPECT_EQ(rows[0].labels[1], '7') << "the last label of the first document";
    EXPECT_EQ(rows[0].tokens[2], '8');
    EXPECT_NE(rows[0].tokens[0], rows[1].tokens[0]);
    const auto rest = [](const std::vector<int64_t>& values) {
      return std::vector<int64_t>(values.begin() + 2, values.end());
    };
    EXPECT_EQ(rest(rows[0].tokens), rest(rows[1].tokens));
    EXPECT_EQ(rest(rows[0].labels), rest(rows[1].labels));
  }
}

// The data that come with titan: all of the validation part fits, once, in order.
TEST(BundledCorpus, Loads) {
  const auto tokenizer =
      text::Tokenizer::from_folder(TITAN_SOURCE_DIR "/data/tokenizers/debug");
  const std::string folder = TITAN_SOURCE_DIR "/data/corpus/";
  DataConfig config{
      .sources = {{.path = folder + "validation.jsonl"}}, .shuffle = false, .epochs = 1};
  Loader loader(
      config,
      {.tokens_per_microbatch = 1024, .context = 1024, .vocab_size = 2048},
      tokenizer);
  EXPECT_EQ(loader.num_documents(), 10);
  int64_t targets = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    targets += std::ranges::count_if(
        batch->labels, [](int64_t label) { return label != kNoLabel; });
  }
  const std::vector<SourceFile> files = open_sources(config.sources, {});
  int64_t expected = 0;
  for (int64_t i = 0; i < 10; ++i) {
    const auto text = std::get<std::string>(files[0].indexed->read(i));
    expected += std::ssize(tokenizer.encode(text));  // + EOS - 1
  }
  EXPECT_EQ(targets, expected);
  config.sources = {{.path = folder + "train.jsonl"}};
  EXPECT_EQ(open_sources(config.sources, {})[0].size(), 253);
}

}  // namespace
}  // namespace titan::data
