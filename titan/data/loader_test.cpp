#include "titan/data/loader.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/byte_tokenizer_fixture.h"

namespace titan::data {
namespace {

constexpr int64_t kBos = 256;
constexpr int64_t kEos = 257;

// Twelve documents of the letters a to l, of many lengths, and the byte tokenizer with
// BOS and EOS.
class LoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::string lines;
    for (int i = 0; i < 12; ++i) {
      const std::string text(static_cast<size_t>(i * 7 % 19), static_cast<char>('a' + i));
      lines += Json{{"text", text}}.dump() + "\n";
    }
    write_file_atomic(folder_ / "data.jsonl", lines);
    write_file_atomic(
        folder_ / "tokenizer.json",
        text::byte_tokenizer_json(
            {},
            {{"added_tokens",
              {text::added_token_json(256, "<s>"), text::added_token_json(257, "</s>")}}})
            .dump());
    write_file_atomic(
        folder_ / "tokenizer_config.json",
        Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}}.dump());
  }

  [[nodiscard]] DataConfig config(int64_t epochs, int64_t prefetch) const {
    return {
        .sources = {{.path = (folder_ / "data.jsonl").string()}},
        .seed = 5,
        .epochs = epochs,
        .add_bos = true,
        .prefetch = prefetch};
  }

  [[nodiscard]] text::Tokenizer tokenizer() const {
    return text::Tokenizer::from_folder(folder_);
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

  template <class Kind, class Call>
  static std::string message_of(Call call) {
    try {
      call();
    } catch (const Kind& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "loader";
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
  const auto refusal = [&](const char* key, const Json& value) {
    Json state = good;
    state[key] = value;
    return message_of<Error>([&] { loader.restore(state); });
  };
  EXPECT_EQ(
      refusal("num_documents", 11),
      "data position: num_documents: it was made with 11, but here it is 12");
  EXPECT_EQ(
      refusal("fingerprint", "0").substr(0, 60),
      "data position: fingerprint: it was made with \"0\", but here i");
  EXPECT_EQ(
      refusal("shuffle", false),
      "data position: shuffle: it was made with false, but here it is true");
  EXPECT_EQ(
      refusal("seed", 6), "data position: seed: it was made with 6, but here it is 5");
  EXPECT_EQ(
      refusal("document", 13),
      "data position: epoch 0, document 13, token 0 is not a position among 12 "
      "documents");
  EXPECT_EQ(
      refusal("token", "x"), "data position: token: expected an integer, got \"x\"");
}

TEST_F(LoaderTest, RefusesWhatDoesNotFit) {
  const auto refusal = [&](auto change) {
    DataConfig data = config(1, 0);
    LoaderOptions loader = options();
    change(data, loader);
    std::string message = message_of<Error>([&] { Loader(data, loader, tokenizer()); });
    const size_t at = message.find(folder_.string() + "/");
    return at == std::string::npos ? message
                                   : message.erase(at, folder_.string().size() + 1);
  };
  using Data = DataConfig;
  using Options = LoaderOptions;
  EXPECT_EQ(
      refusal([](Data&, Options& o) { o.vocab_size = 257; }),
      "tokenizer.json: token \"</s>\" has id 257, but the model's vocabulary has 257 "
      "entries");
  EXPECT_EQ(
      refusal([](Data&, Options& o) { o.tokens_per_microbatch = 0; }),
      "tokens_per_microbatch: expected > 0, got 0");
  EXPECT_EQ(
      refusal([](Data&, Options& o) { o.rank = 1; }), "rank: expected 0 .. 0, got 1");
  EXPECT_EQ(
      refusal([&](Data& d, Options&) {
        fs::remove(folder_ / "tokenizer_config.json");
        d.add_bos = true;
      }),
      "data.add_bos: tokenizer.json has no BOS token");
}

TEST_F(LoaderTest, ErrorsOfAThreadComeOutOfNext) {
  Json json = text::byte_tokenizer_json();
  json["pre_tokenizer"] = {
      {"type", "Split"},
      {"pattern", {{"Regex", "(b|bb)+$|(b*)*x"}}},
      {"behavior", "Isolated"}};
  write_file_atomic(
      folder_ / "data.jsonl", Json{{"text", std::string(5000, 'b') + "c"}}.dump());
  DataConfig data = config(1, 2);
  data.add_bos = data.add_eos = false;
  Loader loader(data, options(), text::Tokenizer::from_json(json, "hostile"));
  const std::string message = message_of<FormatError>([&] { (void)loader.next(); });
  EXPECT_EQ(
      message.substr(0, message.find(": hostile")),
      (folder_ / "data.jsonl").string() + ":1");
  EXPECT_THROW((void)loader.next(), FormatError);
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
  const Documents documents(config.sources);
  int64_t expected = 0;
  for (int64_t i = 0; i < documents.size(); ++i) {
    expected += std::ssize(tokenizer.encode(documents.text(i)));  // + EOS - 1
  }
  EXPECT_EQ(targets, expected);
  EXPECT_EQ(Documents({{.path = folder + "train.jsonl"}}).size(), 253);
}

}  // namespace
}  // namespace titan::data
