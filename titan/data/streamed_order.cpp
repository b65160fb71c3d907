#include <utility>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/data/document_order.h"
#include "titan/data/permutation.h"

namespace titan::data {
namespace {

class StreamedOrder : public DocumentOrder {
 public:
  StreamedOrder(std::vector<const StreamedFile*> files, const OrderOptions& options)
      : files_(std::move(files)), options_(options), random_(options.seed) {
    for (const StreamedFile* file : files_) {
      size_ += file->size();
      hash_.add(file->fingerprint());
    }
    start_epoch(0);
  }

  [[nodiscard]] int64_t size() const override { return size_; }

  [[nodiscard]] uint64_t fingerprint() const override { return hash_.value(); }

  [[nodiscard]] bool streamed() const override { return true; }

  void seek(int64_t used) override {
    start_epoch(used / size_);
    while (place_ < used % size_) {
      (void)draw();
    }
  }

  Ticket next() override {
    if (place_ == size_) {
      start_epoch(epoch_ + 1);
    }
    return draw();
  }

 private:
  void start_epoch(int64_t epoch) {
    epoch_ = epoch;
    place_ = 0;
    num_opened_ = 0;
    reader_.reset();
    buffer_.clear();
    random_ =
        Rng(options_.seed, stable_hash("shuffle buffer") + static_cast<uint64_t>(epoch));
  }

  Ticket draw() {
    const int64_t wanted = options_.shuffle ? options_.buffer : 1;
    while (std::ssize(buffer_) < wanted && read_one()) {
    }
    if (buffer_.empty()) {
      fail<FormatError>(
          "epoch {} ended after {} of {} records: a file has changed since it was opened",
          epoch_,
          place_,
          size_);
    }
    ++place_;
    std::swap(buffer_[random_.next_below(buffer_.size())], buffer_.back());
    Ticket drawn = std::move(buffer_.back());
    buffer_.pop_back();
    return drawn;
  }

  // Puts the next record of the epoch into the buffer; false where there is none.
  bool read_one() {
    Ticket ticket;
    while (reader_ == nullptr || !reader_->next(ticket.record)) {
      if (num_opened_ == files_.size()) {
        return false;
      }
      size_t file = num_opened_++;
      if (options_.shuffle) {
        file = Permutation(
            files_.size(), options_.seed, static_cast<uint64_t>(epoch_))(file);
      }
      file_ = files_[file];
      reader_ = file_->open();
    }
    ticket.streamed = file_;
    ticket.index = reader_->number();
    buffer_.push_back(std::move(ticket));
    return true;
  }

  std::vector<const StreamedFile*> files_;
  OrderOptions options_;
  int64_t size_ = 0;
  SizesHash hash_;
  int64_t epoch_ = 0;
  int64_t place_ = 0;      // documents drawn in this epoch
  size_t num_opened_ = 0;  // files of this epoch
  const StreamedFile* file_ = nullptr;
  std::unique_ptr<RecordReader> reader_;  // of file_
  std::vector<Ticket> buffer_;
  Rng random_;  // of this epoch
};

}  // namespace

std::unique_ptr<DocumentOrder> order_streamed(
    std::vector<const StreamedFile*> files, const OrderOptions& options) {
  return std::make_unique<StreamedOrder>(std::move(files), options);
}

}  // namespace titan::data
