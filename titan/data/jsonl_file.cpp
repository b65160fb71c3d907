#include "titan/data/jsonl_file.h"

#include <algorithm>

#include "titan/base/error.h"

namespace titan::data {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

JsonlFile::JsonlFile(
    const std::filesystem::path& path, const SourceConfig& source, RecordCheck& check)
    : file_(path), source_(source) {
  const std::string_view all = content();
  size_t begin = all.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (size_t number = 1; begin < all.size(); ++number) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = all.substr(begin, end - begin);
    if (!is_blank(line) &&
        check.accepts(line, fmt::format("{}:{}", path.string(), number))) {
      offsets_.push_back(begin);
      sizes_.add(line.size());
    }
    begin = end + 1;
  }
}

std::string_view JsonlFile::content() const {
  return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()};
}

Document JsonlFile::read(int64_t index) const {
  const std::string_view rest = content().substr(offsets_[static_cast<size_t>(index)]);
  return read_record(rest.substr(0, rest.find('\n')), source_, file_.path().string());
}

std::string JsonlFile::where(int64_t index) const {
  const std::string_view before =
      content().substr(0, offsets_[static_cast<size_t>(index)]);
  return fmt::format(
      "{}:{}", file_.path().string(), 1 + std::ranges::count(before, '\n'));
}

}  // namespace titan::data
