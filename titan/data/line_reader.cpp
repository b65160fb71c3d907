#include <string_view>
#include <utility>
#include <vector>

#include "titan/data/jsonl_file.h"
#include "titan/data/record_reader.h"

namespace titan::data {
namespace {

class LineReader : public RecordReader {
 public:
  explicit LineReader(std::unique_ptr<ByteStream> bytes)
      : bytes_(std::move(bytes)), buffer_(1 << 18) {}

  bool next(std::string& record) override {
    while (read_line(record)) {
      ++number_;
      if (number_ == 1 && record.starts_with(kByteOrderMark)) {
        record.erase(0, kByteOrderMark.size());
      }
      if (!is_blank(record)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] int64_t number() const override { return number_; }

 private:
  // The next line without its line feed; false where nothing is left.
  bool read_line(std::string& line) {
    line.clear();
    bool any = false;
    while (begin_ < end_ || refill()) {
      any = true;
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const size_t length = rest.find('\n');
      line += rest.substr(0, length);
      begin_ += length == std::string_view::npos ? rest.size() : length + 1;
      if (length != std::string_view::npos) {
        break;
      }
    }
    return any;
  }

  bool refill() {
    begin_ = 0;
    end_ = bytes_->read(buffer_);
    return end_ > 0;
  }

  std::unique_ptr<ByteStream> bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // what the buffer still holds
  size_t end_ = 0;
  int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> read_lines(std::unique_ptr<ByteStream> bytes) {
  return std::make_unique<LineReader>(std::move(bytes));
}

}  // namespace titan::data
