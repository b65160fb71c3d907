#pragma once
// What a run trains on and how documents become rows.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/data/source.h"

namespace titan::data {

enum class Packing {
  kSplit,     // documents follow each other and are cut where a row ends; no padding
  kFirstFit,  // whole, each into the first row with room, long ones first
  kBestFit    // whole, each into the row with the least room that suffices
};

constexpr auto enum_names(Packing) {
  using Name = std::pair<Packing, std::string_view>;
  return std::array{
      Name{Packing::kSplit, "split"},
      Name{Packing::kFirstFit, "first_fit"},
      Name{Packing::kBestFit, "best_fit"}};
}

enum class OverLong {
  kSplit,     // into pieces
  kTruncate,  // the end is cut off
  kDrop       // the document is left out
};

constexpr auto enum_names(OverLong) {
  using Name = std::pair<OverLong, std::string_view>;
  return std::array{
      Name{OverLong::kSplit, "split"},
      Name{OverLong::kTruncate, "truncate"},
      Name{OverLong::kDrop, "drop"}};
}

enum class ChatTurns {
  kAll,  // every answer is learnt
  kLast  // only the last one
};

constexpr auto enum_names(ChatTurns) {
  using Name = std::pair<ChatTurns, std::string_view>;
  return std::array{Name{ChatTurns::kAll, "all"}, Name{ChatTurns::kLast, "last"}};
}

struct ChatConfig {
  ChatTurns turns = ChatTurns::kAll;
  std::string template_file = "";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("turns", self.turns, "answers that are learnt");
    visit("template_file", self.template_file, "in place of the tokenizer's template");
  }
};

struct DataConfig {
  std::vector<SourceConfig> sources = {};
  std::string tokenizer = "";
  ChatConfig chat = {};
  bool shuffle = true;
  int64_t shuffle_buffer = 10000;
  int64_t seed = 0;
  int64_t epochs = 0;
  BadRecords bad_records = BadRecords::kRefuse;
  bool add_bos = false;
  bool add_eos = true;
  OverLong over_long = OverLong::kSplit;
  Packing packing = Packing::kSplit;
  int64_t packing_window = 1024;
  int64_t threads = 2;
  int64_t prefetch = 4;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("sources", self.sources, "where the documents come from");
    visit(
        "tokenizer", self.tokenizer, "tokenizer.json or its folder; empty: the model's");
    visit("chat", self.chat, "of sources of the kind chat");
    visit("shuffle", self.shuffle, "a new order of the documents in every epoch");
    visit(
        "shuffle_buffer",
        self.shuffle_buffer,
        "compressed and Parquet files: records among which the next one is drawn");
    visit("seed", self.seed, "of the shuffles");
    visit("epochs", self.epochs, "times over the documents; 0: without end");
    visit(
        "bad_records", self.bad_records, "that are not valid: refuse to start, or skip");
    visit("add_bos", self.add_bos, "begin each text with the BOS token");
    visit("add_eos", self.add_eos, "end each text with the EOS token");
    visit(
        "over_long", self.over_long, "what is done to documents longer than the context");
    visit("packing", self.packing, "how documents fill rows");
    visit(
        "packing_window",
        self.packing_window,
        "first_fit and best_fit: documents that are packed together");
    visit("threads", self.threads, "threads that read and tokenise");
    visit("prefetch", self.prefetch, "batches made ahead by a thread; 0: no thread");
  }

  template <class Problems>
  static void check(const DataConfig& self, Problems& problems) {
    if (self.sources.empty()) {
      problems.add("sources", "expected at least one source");
    }
    const auto weighted = std::ranges::count_if(
        self.sources, [](const SourceConfig& source) { return source.weight > 0; });
    if (weighted > 0 && weighted < std::ssize(self.sources)) {
      problems.add("sources", "expected a weight for all of them or for none");
    }
    problems.expect(
        self.shuffle_buffer > 0, "shuffle_buffer", "> 0", self.shuffle_buffer);
    problems.expect(self.seed >= 0, "seed", ">= 0", self.seed);
    problems.expect(self.epochs >= 0, "epochs", ">= 0", self.epochs);
    problems.expect(
        self.packing_window > 0, "packing_window", "> 0", self.packing_window);
    problems.expect(self.threads > 0, "threads", "> 0", self.threads);
    problems.expect(self.prefetch >= 0, "prefetch", ">= 0", self.prefetch);
  }
};

}  // namespace titan::data
