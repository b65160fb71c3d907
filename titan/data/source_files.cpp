#include "titan/data/source_files.h"

#include <algorithm>
#include <glob.h>
#include <optional>
#include <string>
#include <string_view>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/data/jsonl_file.h"
#include "titan/data/parallel_for.h"
#include "titan/data/text_file.h"
#include "titan/data/token_shard.h"

namespace titan::data {
namespace {

namespace fs = std::filesystem;

bool is_compressed(const fs::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

std::optional<DocumentFormat> format_by_ending(const fs::path& path) {
  const bool compressed = is_compressed(path);
  const std::string ending = (compressed ? path.stem() : path).extension().string();
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json") {
    return DocumentFormat::kJsonl;
  }
  if (compressed) {
    return std::nullopt;
  }
  if (ending == ".txt" || ending == ".text") {
    return DocumentFormat::kText;
  }
  if (ending == ".parquet") {
    return DocumentFormat::kParquet;
  }
  if (ending == ".safetensors") {
    return DocumentFormat::kTokens;
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

// Into `file`, whose source is set.
void open_file(
    SourceFile& file,
    const fs::path& path,
    const SourceConfig& source,
    const OpenOptions& options) {
  RecordCheck check(source, options.bad_records);
  const DocumentFormat format = format_of(path, source);
  if (format == DocumentFormat::kText && source.kind == DocumentKind::kChat) {
    fail<InputError>("{}: a text file holds no chat", path.string());
  }
  if (format == DocumentFormat::kTokens) {
    file.indexed = std::make_unique<TokenShard>(path, options.tokenizer_mark);
  } else if (format == DocumentFormat::kText) {
    file.indexed = std::make_unique<TextFile>(path);
  } else if (format == DocumentFormat::kParquet || is_compressed(path)) {
    file.streamed = std::make_unique<StreamedFile>(path, source, check);
  } else {
    file.indexed = std::make_unique<JsonlFile>(path, source, check);
  }
  file.num_bad = check.num_bad();
  if (file.num_bad > 0) {
    log::warning(
        "{}: {} bad records are left out, the first: {}",
        path.string(),
        file.num_bad,
        check.first_problem());
  }
  if (file.size() == 0) {
    fail<InputError>("{}: the file holds no document", path.string());
  }
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
      "{}: the ending does not tell the format; set the source's format", path.string());
}

std::vector<SourceFile> open_sources(
    const std::vector<SourceConfig>& sources, const OpenOptions& options) {
  std::vector<fs::path> paths;
  std::vector<SourceFile> files;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (fs::path& path : find_source_files(sources[i])) {
      paths.push_back(std::move(path));
      files.push_back({.source = i});
    }
  }
  if (files.empty()) {
    fail<InputError>("data.sources: empty, expected at least one source");
  }
  parallel_for(files.size(), options.threads, [&](size_t i) {
    open_file(files[i], paths[i], sources[files[i].source], options);
  });
  return files;
}

}  // namespace titan::data
