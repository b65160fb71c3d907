#include "titan/data/split_packer.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"

namespace titan::data {

SplitPacker::SplitPacker(const PackOptions& options, Intake intake, PackCursor start)
    : options_(options), intake_(std::move(intake)), cursor_(std::move(start)) {}

bool SplitPacker::next(Batch* batch) {
  Row row(options_, batch);
  while (row.room() > 0 && load()) {
    append_piece(row);
  }
  if (row.empty()) {
    return false;
  }
  cursor_.filling += row.fill_up();
  return true;
}

// Sees to it that an example with inputs left is there; false at the end.
bool SplitPacker::load() {
  if (example_) {
    return true;
  }
  example_ = intake_.next();
  if (example_ && cursor_.offset >= example_->num_inputs()) {
    fail<FormatError>(
        "the data position is at input {} of a document with {}: the tokenizer or the "
        "data have changed",
        cursor_.offset,
        example_->num_inputs());
  }
  return example_.has_value();
}

void SplitPacker::append_piece(Row& row) {
  const int64_t rest = example_->num_inputs() - cursor_.offset;
  const int64_t length = std::min({row.room(), options_.max_piece(), rest});
  row.append(*example_, cursor_.offset, length);
  cursor_.offset += length;
  if (length == rest) {
    cursor_ = {intake_.used(), 0, intake_.counts(), cursor_.filling};
    example_.reset();
  }
}

}  // namespace titan::data
