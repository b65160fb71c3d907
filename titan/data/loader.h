#pragma once
// Batches for the training loop: documents in a seeded order, tokenised and packed ahead
// of time, from an exact and small position.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/data/batch.h"
#include "titan/data/pack.h"
#include "titan/data/prefetch.h"
#include "titan/data/source.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

struct DataConfig {
  std::vector<SourceConfig> sources = {};
  std::string tokenizer = "";
  bool shuffle = true;
  int64_t seed = 0;
  int64_t epochs = 0;
  bool add_bos = false;
  bool add_eos = true;
  int64_t prefetch = 4;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("sources", self.sources, "where the documents come from");
    visit(
        "tokenizer", self.tokenizer, "tokenizer.json or its folder; empty: the model's");
    visit("shuffle", self.shuffle, "a new order of the documents in every epoch");
    visit("seed", self.seed, "of the shuffles");
    visit("epochs", self.epochs, "times over the documents; 0: without end");
    visit("add_bos", self.add_bos, "begin each document with the BOS token");
    visit("add_eos", self.add_eos, "end each document with the EOS token");
    visit("prefetch", self.prefetch, "batches made ahead by a thread; 0: no thread");
  }

  template <class Problems>
  static void check(const DataConfig& self, Problems& problems) {
    if (self.sources.empty()) {
      problems.add("sources", "expected at least one source");
    }
    problems.expect(self.seed >= 0, "seed", ">= 0", self.seed);
    problems.expect(self.epochs >= 0, "epochs", ">= 0", self.epochs);
    problems.expect(self.prefetch >= 0, "prefetch", ">= 0", self.prefetch);
  }
};

struct LoaderOptions {
  int64_t tokens_per_microbatch = 0;  // T of every batch
  int64_t context = 0;                // longest piece of a document; 0: T
  int64_t vocab_size = 0;             // rows of the model's embedding
  int64_t rank = 0;                   // of the data-parallel ranks
  int64_t world = 1;
};

// The documents' text is encoded as it stands, so text that spells a special token gives
// that token, as in the reference.
//
// There is one global order of micro-batches whatever the number of ranks; rank r of w
// gets those with number % w == r, and what is missing at the very end as a batch without
// labels, so that all ranks stop together. The state is the global position, the same on
// all ranks. Not thread-safe.
class Loader {
 public:
  // ConfigError: options out of range, add_bos or add_eos with a tokenizer that has no
  // such token. InputError: a tokenizer with ids >= vocab_size. Documents' errors.
  Loader(
      const DataConfig& config,
      const LoaderOptions& options,
      const text::Tokenizer& tokenizer);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch; nullopt at the end of the last epoch, then again at every call.
  // Rethrows what the prefetch thread met.
  [[nodiscard]] std::optional<Batch> next();

  // The position after the batch that next() returned last.
  [[nodiscard]] Json state() const;

  // Goes on from a state: the same batches, bit for bit, with or without prefetch.
  // InputError where it belongs to other documents, another seed or shuffle, naming it;
  // FormatError where it is not a state.
  void restore(const Json& state);

  [[nodiscard]] int64_t num_documents() const { return documents_.size(); }

 private:
  struct Step {
    std::optional<Batch> batch;
    Cursor after;
  };

  void start_at(const Cursor& cursor);
  [[nodiscard]] std::vector<int32_t> encode(int64_t index) const;
  [[nodiscard]] std::vector<int32_t> document_tokens(int64_t epoch, int64_t place) const;
  [[nodiscard]] Step make_step();

  DataConfig config_;
  LoaderOptions options_;
  text::Tokenizer tokenizer_;
  Documents documents_;
  Cursor cursor_;  // after the batch returned last
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<Prefetcher<Step>> steps_;  // destroyed first: its thread uses the rest
};

}  // namespace titan::data
