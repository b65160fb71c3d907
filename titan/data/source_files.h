#pragma once
// From sources to opened files.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "titan/data/indexed_file.h"
#include "titan/data/source.h"
#include "titan/data/streamed_file.h"

namespace titan::data {

// A file itself; a folder's files with an ending of the source's format; or what a glob
// (* ? [...]) matches. Sorted. InputError: nothing there, or a match that is no file.
[[nodiscard]] std::vector<std::filesystem::path> find_source_files(
    const SourceConfig& config);

// The format of `path` by its ending where the source says auto. InputError: not known.
[[nodiscard]] DocumentFormat format_of(
    const std::filesystem::path& path, const SourceConfig& config);

struct OpenOptions {
  BadRecords bad_records = BadRecords::kRefuse;
  size_t threads = 1;          // files that are checked at the same time
  std::string tokenizer_mark;  // that files of tokens must have
};

// Exactly one of the two is set.
struct SourceFile {
  std::unique_ptr<IndexedFile> indexed;
  std::unique_ptr<StreamedFile> streamed;
  size_t source = 0;  // its number in the list
  int64_t num_bad = 0;

  [[nodiscard]] int64_t size() const {
    return indexed ? indexed->size() : streamed->size();
  }
};

// Opens the files of all sources, in the order of the list and then of the names. Reads
// and checks every record once, so that a bad one is found before training, except in
// files of tokens. A byte order mark, CRLF and blank lines are accepted.
//
// InputError: nothing matches a path, a file or the list holds no document. FormatError
// names file:line:column: invalid JSON or UTF-8, a missing, null or wrong member. Where
// bad records are skipped, a warning tells how many a file has and what the first is.
// REQUIRES: `sources` outlives the files.
[[nodiscard]] std::vector<SourceFile> open_sources(
    const std::vector<SourceConfig>& sources, const OpenOptions& options);

}  // namespace titan::data
