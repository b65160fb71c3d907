// Exactness under kills and changes of the number of ranks, for every kind of source and
// packing: whatever happens, the micro-batches are those of an undisturbed run.

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "titan/base/rng.h"
#include "titan/data/loader.h"
#include "titan/data/test_folder.h"
#include "titan/data/tokenize.h"

namespace titan::data {
namespace {

struct Scenario {
  const char* name;
  std::vector<std::string> files;
  std::vector<double> weights = {};
  Packing packing = Packing::kSplit;
  OverLong over_long = OverLong::kSplit;
};

std::vector<Scenario> scenarios() {
  std::vector<Scenario> scenarios;
  for (const Packing packing : {Packing::kSplit, Packing::kFirstFit, Packing::kBestFit}) {
    scenarios.push_back({"lines", {"a.jsonl", "b.jsonl"}, {}, packing});
    scenarios.push_back({"compressed", {"a.jsonl.gz", "b.jsonl.zst"}, {}, packing});
    scenarios.push_back({"both kinds", {"a.jsonl", "b.jsonl.zst"}, {}, packing});
    scenarios.push_back(
        {"weighted",
         {"a.jsonl", "b.jsonl.gz", "tokens"},
         {0.6, 0.3, 0.1},
         packing,
         OverLong::kDrop});
    scenarios.push_back({"tokens", {"tokens"}, {}, packing, OverLong::kTruncate});
  }
  return scenarios;
}

class LoaderProperties : public TestFolder {
 protected:
  // 40 texts of up to 30 letters in two files, each text of one letter of its own.
  void SetUp() override {
    TestFolder::SetUp();
    std::vector<std::vector<std::string>> parts(2);
    for (int i = 0; i < 40; ++i) {
      parts[i % 3 == 0 ? 1 : 0].emplace_back(
          static_cast<size_t>(1 + i * 11 % 30), static_cast<char>('A' + i));
    }
    put_jsonl("a.jsonl", parts[0]);
    put_jsonl("b.jsonl", parts[1]);
    put("a.jsonl.gz", gzip(jsonl(parts[0])));
    put("b.jsonl.gz", gzip(jsonl(parts[1])));
    put("b.jsonl.zst", zstd(jsonl(parts[1])));
    DataConfig whole{.sources = {{.path = path("a.jsonl")}, {.path = path("b.jsonl")}}};
    tokenizer_ = tokenizer();
    (void)write_token_files(whole, *tokenizer_, folder_ / "tokens", 200);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  [[nodiscard]] DataConfig config(const Scenario& scenario, int64_t threads) const {
    DataConfig config{
        .shuffle_buffer = 7,
        .seed = 5,
        .epochs = 3,
        .over_long = scenario.over_long,
        .packing = scenario.packing,
        .packing_window = 9,
        .threads = threads,
        .prefetch = threads - 1};
    for (size_t i = 0; i < scenario.files.size(); ++i) {
      const double weight = scenario.weights.empty() ? 0 : scenario.weights[i];
      config.sources.push_back({.path = path(scenario.files[i]), .weight = weight});
    }
    return config;
  }

  static LoaderOptions options(int64_t rank, int64_t world) {
    return {
        .tokens_per_microbatch = 32,
        .context = 24,
        .vocab_size = 258,
        .rank = rank,
        .world = world};
  }

  std::optional<text::Tokenizer> tokenizer_;
};

// Documents (letter) by how often their EOS is learnt.
std::map<int64_t, int64_t> endings(const std::vector<Batch>& batches) {
  std::map<int64_t, int64_t> counts;
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      if (batch.labels[i] == kEos) {
        ++counts[batch.tokens[i]];
      }
    }
  }
  return counts;
}

TEST_F(LoaderProperties, EveryDocumentIsUsedOnceAnEpoch) {
  for (const Scenario& scenario : scenarios()) {
    if (!scenario.weights.empty() || scenario.over_long != OverLong::kSplit) {
      continue;
    }
    Loader loader(config(scenario, 1), options(0, 1), *tokenizer_);
    std::vector<Batch> batches;
    while (std::optional<Batch> batch = loader.next()) {
      batches.push_back(std::move(*batch));
    }
    const auto counts = endings(batches);
    EXPECT_EQ(counts.size(), 40) << scenario.name;
    for (const auto& [letter, count] : counts) {
      EXPECT_EQ(count, 3) << scenario.name << " " << letter;
    }
    EXPECT_EQ(loader.counts(), (DocumentCounts{.documents = 120})) << scenario.name;
  }
}

// Runs of random length, each with another number of ranks and threads than the one
// before, from the state that one rank of it saved. Taken together the ranks' batches are
// the single run's, in its order, and all ranks end at the same step.
TEST_F(LoaderProperties, KillsAndRankChangesLoseNothing) {
  Rng random(17);
  for (const Scenario& scenario : scenarios()) {
    Loader single(config(scenario, 1), options(0, 1), *tokenizer_);
    std::vector<Batch> expected;
    while (std::optional<Batch> batch = single.next()) {
      expected.push_back(std::move(*batch));
    }
    ASSERT_GT(expected.size(), 20) << scenario.name;
    for (int trial = 0; trial < 3; ++trial) {
      std::vector<Batch> got;
      std::optional<Json> state;
      bool ended = false;
      for (int run = 0; !ended; ++run) {
        ASSERT_LT(run, 1000);
        const auto world = static_cast<int64_t>(1 + random.next_below(4));
        const auto threads = static_cast<int64_t>(1 + random.next_below(3));
        const auto steps = 1 + random.next_below(6);
        std::vector<std::unique_ptr<Loader>> ranks;
        for (int64_t rank = 0; rank < world; ++rank) {
          ranks.push_back(std::make_unique<Loader>(
              config(scenario, threads), options(rank, world), *tokenizer_));
          if (state) {
            ranks.back()->restore(*state);
          }
        }
        for (uint64_t step = 0; step < steps && !ended; ++step) {
          std::vector<std::optional<Batch>> batches;
          for (const auto& rank : ranks) {
            batches.push_back(rank->next());
          }
          ended = !batches[0].has_value();
          for (auto& batch : batches) {
            ASSERT_EQ(batch.has_value(), !ended) << "all ranks stop at the same step";
            if (batch) {
              got.push_back(std::move(*batch));
            }
          }
        }
        for (const auto& rank : ranks) {
          ASSERT_EQ(rank->state(), ranks[0]->state());
        }
        // As it comes back from a checkpoint, whichever rank wrote it.
        state =
            parse_json(ranks[random.next_below(ranks.size())]->state().dump(), "state");
      }
      // What the last group lacked are batches without labels.
      ASSERT_GE(got.size(), expected.size());
      for (size_t i = expected.size(); i < got.size(); ++i) {
        ASSERT_EQ(got[i].labels, std::vector<int64_t>(32, kNoLabel));
      }
      got.resize(expected.size());
      ASSERT_EQ(got, expected) << scenario.name << ", trial " << trial;
    }
  }
}

TEST_F(LoaderProperties, ThreadsChangeNothing) {
  for (const Scenario& scenario : scenarios()) {
    Loader one(config(scenario, 1), options(0, 1), *tokenizer_);
    Loader four(config(scenario, 4), options(0, 1), *tokenizer_);
    for (bool more = true; more;) {
      const std::optional<Batch> batch = one.next();
      more = batch.has_value();
      ASSERT_EQ(four.next(), batch) << scenario.name;
      ASSERT_EQ(four.state(), one.state()) << scenario.name;
      ASSERT_EQ(four.counts(), one.counts()) << scenario.name;
    }
  }
}

// Tokens made once give the batches that the text gives, in another order of documents
// only where the order is by file.
TEST_F(LoaderProperties, TokenFilesGiveWhatTheTextGives) {
  DataConfig text = config({"lines", {"a.jsonl", "b.jsonl"}}, 1);
  DataConfig tokens = config({"tokens", {"tokens"}}, 1);
  Loader from_text(text, options(0, 1), *tokenizer_);
  Loader from_tokens(tokens, options(0, 1), *tokenizer_);
  for (bool more = true; more;) {
    const std::optional<Batch> batch = from_text.next();
    more = batch.has_value();
    ASSERT_EQ(from_tokens.next(), batch);
  }
}

}  // namespace
}  // namespace titan::data
