#include "titan/data/streamed_file.h"

#include <algorithm>
#include <utility>

#include "titan/base/error.h"
#include "titan/data/parquet.h"

namespace titan::data {
namespace {

std::unique_ptr<RecordReader> open_records(
    const std::filesystem::path& path, const SourceConfig& source) {
  if (path.extension() == ".gz") {
    return read_lines(open_gzip(path));
  }
  if (path.extension() == ".zst") {
    return read_lines(open_zstd(path));
  }
  return open_parquet(path, record_members(source));
}

// Leaves the bad records out.
class GoodRecords : public RecordReader {
 public:
  GoodRecords(std::unique_ptr<RecordReader> all, const std::vector<int64_t>& bad)
      : all_(std::move(all)), bad_(bad) {}

  bool next(std::string& record) override {
    while (all_->next(record)) {
      if (!std::ranges::binary_search(bad_, all_->number())) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] int64_t number() const override { return all_->number(); }

 private:
  std::unique_ptr<RecordReader> all_;
  const std::vector<int64_t>& bad_;
};

}  // namespace

StreamedFile::StreamedFile(
    std::filesystem::path path, const SourceConfig& source, RecordCheck& check)
    : path_(std::move(path)), source_(source) {
  const std::unique_ptr<RecordReader> records = open_records(path_, source_);
  for (std::string record; records->next(record);) {
    if (check.accepts(record, where(records->number()))) {
      ++size_;
      sizes_.add(record.size());
    } else {
      bad_.push_back(records->number());
    }
  }
}

std::unique_ptr<RecordReader> StreamedFile::open() const {
  return std::make_unique<GoodRecords>(open_records(path_, source_), bad_);
}

Document StreamedFile::parse(const std::string& record) const {
  return read_record(record, source_, path_.string());
}

std::string StreamedFile::where(int64_t number) const {
  return fmt::format("{}:{}", path_.string(), number);
}

}  // namespace titan::data
