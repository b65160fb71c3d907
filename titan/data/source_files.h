#pragma once
// From a source's path to the files that it means.

#include <filesystem>
#include <vector>

#include "titan/data/source.h"

namespace titan::data {

// A file itself; a folder's files with an ending of the source's format; or what a glob
// (* ? [...]) matches. Sorted. InputError: nothing there, or a match that is no file.
[[nodiscard]] std::vector<std::filesystem::path> find_source_files(
    const SourceConfig& config);

// The format of `path` by its ending where the source says auto. InputError: not known.
[[nodiscard]] DocumentFormat format_of(
    const std::filesystem::path& path, const SourceConfig& config);

}  // namespace titan::data
