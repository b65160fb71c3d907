#include "titan/checkpoint/foreign_content.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace titan::checkpoint {

std::string foreign_content_hint(std::span<const std::byte> file) {
  constexpr size_t kLooked = 64;
  std::string start(
      reinterpret_cast<const char*>(file.data()), std::min(file.size(), kLooked));
  std::transform(start.begin(), start.end(), start.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  if (start.starts_with("version https://git-lfs")) {
    return " (looks like a Git LFS pointer: fetch the file that it stands for)";
  }
  if (start.starts_with("<!doctype") || start.starts_with("<html")) {
    return " (looks like an HTML page: the download gave an error page)";
  }
  return "";
}

}  // namespace titan::checkpoint
