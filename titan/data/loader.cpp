#include "titan/data/loader.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"
#include "titan/data/mixture_of_files.h"
#include "titan/data/position.h"
#include "titan/data/token_shard.h"

namespace titan::data {
namespace {

void require(bool holds, std::string_view name, std::string_view expected, int64_t got) {
  if (!holds) {
    fail<ConfigError>("{}: expected {}, got {}", name, expected, got);
  }
}

// `config` itself, once everything that needs no data has been checked.
const DataConfig& checked(
    const DataConfig& config,
    const LoaderOptions& options,
    const text::Tokenizer& tokenizer) {
  require(
      options.tokens_per_microbatch > 0,
      "tokens_per_microbatch",
      "> 0",
      options.tokens_per_microbatch);
  require(options.context >= 0, "context", ">= 0", options.context);
  require(options.world > 0, "world", "> 0", options.world);
  require(
      options.rank >= 0 && options.rank < options.world,
      "rank",
      fmt::format("0 .. {}", options.world - 1),
      options.rank);
  require(config.epochs >= 0, "data.epochs", ">= 0", config.epochs);
  require(config.prefetch >= 0, "data.prefetch", ">= 0", config.prefetch);
  tokenizer.check_fits(options.vocab_size);
  return config;
}

}  // namespace

Loader::Loader(
    const DataConfig& config,
    const LoaderOptions& options,
    const text::Tokenizer& tokenizer)
    : config_(checked(config, options, tokenizer)),
      options_(options),
      processor_(config, tokenizer),
      files_(open_sources(
          config_.sources,
          {config.bad_records,
           static_cast<size_t>(config.threads),
           tokenizer_mark(tokenizer)})),
      mixture_(mix_files(config_, files_)) {
  const PackCursor start{.used = std::vector<int64_t>(mixture_.parts().size(), 0)};
  Intake intake = intake_at(start);
  if (!intake.next()) {
    fail_nothing_to_learn(intake.counts());
  }
  start_at(start);
}

PackOptions Loader::pack_options() const {
  return {
      .tokens = options_.tokens_per_microbatch,
      .context = options_.context,
      .vocab_size = options_.vocab_size,
      .packing = config_.packing,
      .window = std::min(config_.packing_window, num_documents()),
      .seed = static_cast<uint64_t>(config_.seed)};
}

Intake Loader::intake_at(const PackCursor& cursor) {
  mixture_.seek(cursor.used);
  examples_ = std::make_unique<ExampleStream>(
      mixture_,
      processor_,
      StreamOptions{static_cast<size_t>(config_.threads), config_.bad_records});
  // Rows that are not cut bound a document as the context does.
  const int64_t context = options_.context;
  const int64_t longest = config_.packing == Packing::kSplit && context > 0
                              ? context
                              : pack_options().max_piece();
  return {
      [examples = examples_.get()] { return examples->next(); },
      IntakeLimits{longest, config_.over_long, mixture_.sizes()},
      cursor.used,
      cursor.counts};
}

void Loader::start_at(const PackCursor& cursor) {
  steps_.reset();
  cursor_ = cursor;
  counts_ = cursor.counts;
  packer_ = make_packer(pack_options(), intake_at(cursor), cursor);
}

// One micro-batch for every rank, of which this rank keeps its own.
Loader::Step Loader::make_step() {
  std::optional<Batch> own;
  for (int64_t rank = 0; rank < options_.world; ++rank) {
    Batch batch;
    const bool is_own = rank == options_.rank;
    const bool more = packer_->next(is_own ? &batch : nullptr);
    if (rank == 0 && !more) {
      break;
    }
    if (is_own) {
      own = more ? std::move(batch) : filling_row(pack_options());
    }
  }
  return {std::move(own), packer_->cursor(), packer_->counts()};
}

std::optional<Batch> Loader::next() {
  if (!steps_) {
    steps_ = std::make_unique<Prefetcher<Step>>(
        [this] { return make_step(); }, static_cast<size_t>(config_.prefetch));
  }
  Step step = steps_->next();
  cursor_ = std::move(step.after);
  counts_ = step.counts;
  return std::move(step.batch);
}

Json Loader::state() const {
  return position_to_json(cursor_, {config_, pack_options(), mixture_});
}

void Loader::restore(const Json& state) {
  start_at(position_from_json(state, {config_, pack_options(), mixture_}));
}

int64_t Loader::num_documents() const {
  int64_t documents = 0;
  for (const int64_t size : mixture_.sizes()) {
    documents += size;
  }
  return documents;
}

}  // namespace titan::data
