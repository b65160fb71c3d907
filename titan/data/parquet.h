#pragma once
// Parquet, through a shared library that is opened at the first file: titan itself
// neither links nor loads Arrow.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "titan/data/record_reader.h"

namespace titan::data {

// The rows as JSON objects of the named columns; a column that the file lacks is left
// out. EnvironmentError: the library cannot be loaded. FormatError: not a Parquet file,
// or a column of a type that has no JSON form.
[[nodiscard]] std::unique_ptr<RecordReader> open_parquet(
    const std::filesystem::path& path, const std::vector<std::string>& columns);

}  // namespace titan::data
