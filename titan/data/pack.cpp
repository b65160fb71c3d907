#include "titan/data/pack.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"
#include "titan/data/fit_packer.h"
#include "titan/data/row.h"
#include "titan/data/split_packer.h"

namespace titan::data {

int64_t PackOptions::max_piece() const {
  return context == 0 ? tokens : std::min(context, tokens);
}

Row::Row(const PackOptions& options, Batch* batch) : options_(options), batch_(batch) {
  if (batch_ != nullptr) {
    *batch_ = {};
    batch_->tokens.reserve(static_cast<size_t>(options.tokens));
    batch_->labels.reserve(static_cast<size_t>(options.tokens));
  }
}

void Row::append(const Example& example, int64_t begin, int64_t length) {
  length_ += length;
  if (batch_ == nullptr) {
    return;
  }
  const auto ids = example.ids();
  for (int64_t i = begin; i <= begin + length; ++i) {
    const int32_t id = ids[static_cast<size_t>(i)];
    if (id < 0 || id >= options_.vocab_size) {
      fail<FormatError>(
          "data: token id {} is not in the model's vocabulary of {}",
          id,
          options_.vocab_size);
    }
  }
  for (int64_t i = begin; i < begin + length; ++i) {
    batch_->tokens.push_back(ids[static_cast<size_t>(i)]);
    batch_->labels.push_back(example.label(i));
  }
  batch_->document_lengths.push_back(length);
}

int64_t Row::fill_up() {
  const int64_t rest = room();
  while (room() > 0) {
    const int64_t length = std::min(room(), options_.max_piece());
    length_ += length;
    if (batch_ != nullptr) {
      batch_->tokens.insert(batch_->tokens.end(), static_cast<size_t>(length), 0);
      batch_->labels.insert(batch_->labels.end(), static_cast<size_t>(length), kNoLabel);
      batch_->document_lengths.push_back(length);
    }
  }
  return rest;
}

std::unique_ptr<Packer> make_packer(
    const PackOptions& options, Intake intake, PackCursor start) {
  if (options.packing == Packing::kSplit) {
    return std::make_unique<SplitPacker>(options, std::move(intake), std::move(start));
  }
  return std::make_unique<FitPacker>(options, std::move(intake), std::move(start));
}

Batch filling_row(const PackOptions& options) {
  Batch batch;
  Row(options, &batch).fill_up();
  return batch;
}

}  // namespace titan::data
