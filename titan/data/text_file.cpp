#include "titan/data/text_file.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/data/jsonl_file.h"
#include "titan/text/utf8.h"

namespace titan::data {

TextFile::TextFile(std::filesystem::path path) : path_(std::move(path)) {
  const std::string all = text();
  bytes_ = all.size();
  if (const std::optional<size_t> offset = text::find_invalid_utf8(all)) {
    const std::string_view before = std::string_view(all).substr(0, *offset);
    fail<FormatError>(
        "{}:{}:{}: not UTF-8",
        path_.string(),
        1 + std::ranges::count(before, '\n'),
        *offset - (before.rfind('\n') + 1) + 1);
  }
}

std::string TextFile::text() const {
  std::string all = read_file(path_);
  if (all.starts_with(kByteOrderMark)) {
    all.erase(0, kByteOrderMark.size());
  }
  return all;
}

}  // namespace titan::data
