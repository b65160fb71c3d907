#include <algorithm>
#include <utility>

#include "titan/data/document_order.h"
#include "titan/data/permutation.h"

namespace titan::data {
namespace {

class IndexedOrder : public DocumentOrder {
 public:
  IndexedOrder(std::vector<const IndexedFile*> files, const OrderOptions& options)
      : files_(std::move(files)), options_(options) {
    for (const IndexedFile* file : files_) {
      size_ += file->size();
      ends_.push_back(size_);
      hash_.add(file->fingerprint());
    }
  }

  [[nodiscard]] int64_t size() const override { return size_; }

  [[nodiscard]] uint64_t fingerprint() const override { return hash_.value(); }

  [[nodiscard]] bool streamed() const override { return false; }

  void seek(int64_t used) override { used_ = used; }

  Ticket next() override {
    int64_t document = used_ % size_;
    if (options_.shuffle) {
      const Permutation order(
          static_cast<uint64_t>(size_),
          options_.seed,
          static_cast<uint64_t>(used_ / size_));
      document = static_cast<int64_t>(order(static_cast<uint64_t>(document)));
    }
    ++used_;
    const auto file =
        static_cast<size_t>(std::ranges::upper_bound(ends_, document) - ends_.begin());
    return {
        .indexed = files_[file],
        .index = file == 0 ? document : document - ends_[file - 1]};
  }

 private:
  std::vector<const IndexedFile*> files_;
  OrderOptions options_;
  std::vector<int64_t> ends_;  // documents up to and with each file
  int64_t size_ = 0;
  SizesHash hash_;
  int64_t used_ = 0;
};

}  // namespace

Document Ticket::read() const {
  return indexed != nullptr ? indexed->read(index) : streamed->parse(record);
}

bool Ticket::needs_work() const {
  return indexed == nullptr || !indexed->holds_tokens();
}

std::string Ticket::where() const {
  return indexed != nullptr ? indexed->where(index) : streamed->where(index);
}

std::unique_ptr<DocumentOrder> order_indexed(
    std::vector<const IndexedFile*> files, const OrderOptions& options) {
  return std::make_unique<IndexedOrder>(std::move(files), options);
}

}  // namespace titan::data
