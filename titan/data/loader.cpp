#include "titan/data/loader.h"

#include <utility>

#include "titan/base/error.h"
#include "titan/data/permutation.h"

namespace titan::data {
namespace {

constexpr int64_t kStateVersion = 1;
constexpr const char* kWhat = "data position";

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
  if (config.add_bos && !tokenizer.bos_id()) {
    fail<ConfigError>("data.add_bos: {} has no BOS token", tokenizer.name());
  }
  if (config.add_eos && tokenizer.eos_ids().empty()) {
    fail<ConfigError>("data.add_eos: {} has no EOS token", tokenizer.name());
  }
  return config;
}

template <class T>
void require_equal(const Json& state, const char* name, const T& expected) {
  const T got = json_get<T>(state, name, kWhat);
  if (got != expected) {
    fail<InputError>(
        "{}: {}: it was made with {}, but here it is {}",
        kWhat,
        name,
        Json(got).dump(),
        Json(expected).dump());
  }
}

}  // namespace

Loader::Loader(
    const DataConfig& config,
    const LoaderOptions& options,
    const text::Tokenizer& tokenizer)
    : config_(checked(config, options, tokenizer)),
      options_(options),
      tokenizer_(tokenizer),
      documents_(config.sources) {
  start_at({});
}

void Loader::start_at(const Cursor& cursor) {
  steps_.reset();
  cursor_ = cursor;
  packer_ = std::make_unique<Packer>(
      PackOptions{options_.tokens_per_microbatch, options_.context},
      DocumentStream{
          documents_.size(),
          config_.epochs,
          [this](int64_t epoch, int64_t place) { return document_tokens(epoch, place); }},
      cursor);
}

std::vector<int32_t> Loader::encode(int64_t index) const {
  try {
    return tokenizer_.encode(documents_.text(index));
  } catch (const FormatError& error) {
    fail<FormatError>("{}: {}", documents_.where(index), error.what());
  }
}

std::vector<int32_t> Loader::document_tokens(int64_t epoch, int64_t place) const {
  int64_t index = place;
  if (config_.shuffle) {
    const Permutation order(
        static_cast<uint64_t>(documents_.size()),
        static_cast<uint64_t>(config_.seed),
        static_cast<uint64_t>(epoch));
    index = static_cast<int64_t>(order(static_cast<uint64_t>(place)));
  }
  std::vector<int32_t> ids = encode(index);
  if (config_.add_bos) {
    ids.insert(ids.begin(), *tokenizer_.bos_id());
  }
  if (config_.add_eos) {
    ids.push_back(tokenizer_.eos_ids().front());
  }
  return ids;
}

// One micro-batch for every rank, of which this rank keeps its own.
Loader::Step Loader::make_step() {
  std::optional<Batch> own;
  for (int64_t rank = 0; rank < options_.world; ++rank) {
    std::optional<Batch> batch = packer_->next();
    if (rank == 0 && !batch) {
      break;
    }
    if (rank == options_.rank) {
      own = batch ? std::move(batch) : packer_->filling();
    }
  }
  return {std::move(own), packer_->cursor()};
}

std::optional<Batch> Loader::next() {
  if (!steps_) {
    steps_ = std::make_unique<Prefetcher<Step>>(
        [this] { return make_step(); }, static_cast<size_t>(config_.prefetch));
  }
  Step step = steps_->next();
  cursor_ = step.after;
  return std::move(step.batch);
}

Json Loader::state() const {
  return {
      {"version", kStateVersion},
      {"num_documents", documents_.size()},
      {"fingerprint", fmt::format("{:016x}", documents_.fingerprint())},
      {"shuffle", config_.shuffle},
      {"seed", config_.seed},
      {"epoch", cursor_.epoch},
      {"document", cursor_.document},
      {"token", cursor_.token}};
}

void Loader::restore(const Json& state) {
  require_equal<int64_t>(state, "version", kStateVersion);
  require_equal<int64_t>(state, "num_documents", documents_.size());
  require_equal<std::string>(
      state, "fingerprint", fmt::format("{:016x}", documents_.fingerprint()));
  require_equal<bool>(state, "shuffle", config_.shuffle);
  if (config_.shuffle) {
    require_equal<int64_t>(state, "seed", config_.seed);
  }
  const Cursor cursor{
      json_get<int64_t>(state, "epoch", kWhat),
      json_get<int64_t>(state, "document", kWhat),
      json_get<int64_t>(state, "token", kWhat)};
  if (cursor.epoch < 0 || cursor.document < 0 || cursor.document > documents_.size() ||
      cursor.token < 0) {
    fail<FormatError>(
        "{}: epoch {}, document {}, token {} is not a position among {} documents",
        kWhat,
        cursor.epoch,
        cursor.document,
        cursor.token,
        documents_.size());
  }
  start_at(cursor);
}

}  // namespace titan::data
