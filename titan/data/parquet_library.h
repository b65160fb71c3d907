#pragma once
// What the shared library titan_parquet offers to the binary that loads it.

#include <string>
#include <vector>

#include "titan/data/record_reader.h"

namespace titan::data {

// The type and the name of its only function, see open_parquet(). The caller owns the
// reader; both sides are built together, so C++ types and exceptions may pass.
using OpenParquetFunction =
    RecordReader*(const std::string& path, const std::vector<std::string>& columns);
inline constexpr const char* kOpenParquetName = "titan_open_parquet";
inline constexpr const char* kParquetLibrary = "libtitan_parquet.so";

}  // namespace titan::data
