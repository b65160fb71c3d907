#include "titan/data/source_files.h"

#include <algorithm>
#include <glob.h>
#include <optional>
#include <string>
#include <string_view>

#include "titan/base/error.h"

namespace titan::data {
namespace {

namespace fs = std::filesystem;

std::optional<DocumentFormat> format_by_ending(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json") {
    return DocumentFormat::kJsonl;
  }
  if (ending == ".txt" || ending == ".text") {
    return DocumentFormat::kText;
  }
  return std::nullopt;
}

std::vector<fs::path> files_of_folder(const SourceConfig& config) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(config.path)) {
    const std::optional<DocumentFormat> format = format_by_ending(entry.path());
    const bool wanted = config.format == DocumentFormat::kAuto ? format.has_value()
                                                               : format == config.format;
    if (entry.is_regular_file() && wanted) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    fail<InputError>("{}: the folder has no file to read documents from", config.path);
  }
  std::ranges::sort(files);
  return files;
}

std::vector<fs::path> files_of_glob(const std::string& pattern) {
  glob_t matches{};
  const int result = glob(pattern.c_str(), 0, nullptr, &matches);
  const std::vector<fs::path> files(
      matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  if (result != 0 && result != GLOB_NOMATCH) {
    fail<EnvironmentError>("{}: cannot list the files", pattern);
  }
  if (files.empty()) {
    fail<InputError>("{}: no file matches", pattern);
  }
  for (const fs::path& file : files) {
    if (!fs::is_regular_file(file)) {
      fail<InputError>("{}: matches {}, which is not a file", pattern, file.string());
    }
  }
  return files;
}

}  // namespace

std::vector<fs::path> find_source_files(const SourceConfig& config) {
  if (fs::is_directory(config.path)) {
    return files_of_folder(config);
  }
  if (fs::exists(config.path)) {
    return {config.path};
  }
  if (config.path.find_first_of("*?[") != std::string::npos) {
    return files_of_glob(config.path);
  }
  fail<InputError>("{}: no such file or folder", config.path);
}

DocumentFormat format_of(const fs::path& path, const SourceConfig& config) {
  if (config.format != DocumentFormat::kAuto) {
    return config.format;
  }
  if (const std::optional<DocumentFormat> format = format_by_ending(path)) {
    return *format;
  }
  fail<InputError>(
      "{}: the ending does not tell the format; set the source's format to jsonl or text",
      path.string());
}

}  // namespace titan::data
