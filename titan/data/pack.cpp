#include "titan/data/pack.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"

namespace titan::data {

Packer::Packer(const PackOptions& options, DocumentStream stream, const Cursor& start)
    : options_(options), stream_(std::move(stream)), cursor_(start) {
  if (options_.context == 0) {
    options_.context = options_.tokens;
  }
  // What came before the start is not known; an epoch is called empty only if seen whole.
  epoch_has_input_ = start.document > 0 || start.token > 0;
}

std::optional<Batch> Packer::next() {
  Batch row;
  row.tokens.reserve(static_cast<size_t>(options_.tokens));
  row.labels.reserve(static_cast<size_t>(options_.tokens));
  while (std::ssize(row.tokens) < options_.tokens && load_document()) {
    append_piece(row);
  }
  if (row.tokens.empty()) {
    return std::nullopt;
  }
  fill_up(row);
  return row;
}

Batch Packer::filling() const {
  Batch row;
  fill_up(row);
  return row;
}

// Goes to the next document with inputs left; false at the end of the last epoch.
bool Packer::load_document() {
  while (!loaded_) {
    if (cursor_.document == stream_.num_documents) {
      if (!epoch_has_input_) {
        fail<FormatError>(
            "none of the {} documents has two tokens or more", stream_.num_documents);
      }
      epoch_has_input_ = false;
      cursor_ = {cursor_.epoch + 1, 0, 0};
    }
    if (stream_.num_epochs > 0 && cursor_.epoch >= stream_.num_epochs) {
      return false;
    }
    document_ = stream_.tokens(cursor_.epoch, cursor_.document);
    const int64_t inputs = std::max<int64_t>(std::ssize(document_) - 1, 0);
    if (cursor_.token > inputs) {
      fail<FormatError>(
          "the data position is at input {} of a document with {}: the tokenizer or the "
          "data have changed",
          cursor_.token,
          inputs);
    }
    if (cursor_.token < inputs) {
      loaded_ = true;
      epoch_has_input_ = true;
    } else {
      cursor_ = {cursor_.epoch, cursor_.document + 1, 0};
    }
  }
  return true;
}

void Packer::append_piece(Batch& row) {
  const int64_t inputs = std::ssize(document_) - 1;
  const int64_t room = options_.tokens - std::ssize(row.tokens);
  const int64_t length = std::min({room, options_.context, inputs - cursor_.token});
  const auto first = document_.begin() + cursor_.token;
  row.tokens.insert(row.tokens.end(), first, first + length);
  row.labels.insert(row.labels.end(), first + 1, first + 1 + length);
  row.document_lengths.push_back(length);
  cursor_.token += length;
  if (cursor_.token == inputs) {
    cursor_ = {cursor_.epoch, cursor_.document + 1, 0};
    loaded_ = false;
  }
}

void Packer::fill_up(Batch& row) const {
  while (std::ssize(row.tokens) < options_.tokens) {
    const int64_t room = options_.tokens - std::ssize(row.tokens);
    const int64_t length = std::min(room, options_.context);
    row.tokens.insert(row.tokens.end(), static_cast<size_t>(length), 0);
    row.labels.insert(row.labels.end(), static_cast<size_t>(length), kNoLabel);
    row.document_lengths.push_back(length);
  }
}

}  // namespace titan::data
