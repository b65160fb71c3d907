#pragma once
// Batches for the training loop: documents in a seeded order, tokenised and packed ahead
// of time, from an exact and small position.

#include <cstdint>
#include <memory>
#include <optional>

#include "titan/base/json.h"
#include "titan/data/batch.h"
#include "titan/data/config.h"
#include "titan/data/example_stream.h"
#include "titan/data/mixture.h"
#include "titan/data/pack.h"
#include "titan/data/prefetch.h"
#include "titan/data/processor.h"
#include "titan/data/source_files.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

struct LoaderOptions {
  int64_t tokens_per_microbatch = 0;  // T of every batch
  int64_t context = 0;                // longest piece of a document; 0: T
  int64_t vocab_size = 0;             // rows of the model's embedding
  int64_t rank = 0;                   // of the data-parallel ranks
  int64_t world = 1;
};

// There is one global order of micro-batches whatever the number of ranks; rank r of w
// gets those with number % w == r, and what is missing at the very end as a batch without
// labels, so that all ranks stop together. The state is the global position, the same on
// all ranks. The order depends on the data, the config and the sizes of LoaderOptions,
// never on threads, prefetch or ranks. Not thread-safe.
class Loader {
 public:
  // ConfigError: options out of range, and Processor's. InputError: a tokenizer with ids
  // >= vocab_size. FormatError: no document has a token to predict. Further
  // open_sources()' errors.
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

  // Goes on from a state: the same batches, bit for bit. InputError where it belongs to
  // other documents or settings, naming them; FormatError where it is not a state.
  void restore(const Json& state);

  // Documents of an epoch.
  [[nodiscard]] int64_t num_documents() const;

  // What became of the documents that were needed for the batches so far: with first_fit
  // and best_fit all of a window.
  [[nodiscard]] const DocumentCounts& counts() const { return counts_; }

  // Tokens that filled rows up, in all batches of all ranks so far.
  [[nodiscard]] int64_t filling() const { return cursor_.filling; }

 private:
  struct Step {
    std::optional<Batch> batch;
    PackCursor after;
    DocumentCounts counts;
  };

  [[nodiscard]] PackOptions pack_options() const;
  [[nodiscard]] Intake intake_at(const PackCursor& cursor);
  void start_at(const PackCursor& cursor);
  [[nodiscard]] Step make_step();

  DataConfig config_;
  LoaderOptions options_;
  Processor processor_;
  std::vector<SourceFile> files_;
  Mixture mixture_;
  PackCursor cursor_;      // after the batch returned last
  DocumentCounts counts_;  // until then
  std::unique_ptr<ExampleStream> examples_;
  std::unique_ptr<Packer> packer_;
  std::unique_ptr<Prefetcher<Step>> steps_;  // destroyed first: its thread uses the rest
};

}  // namespace titan::data
