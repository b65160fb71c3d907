#include "titan/data/parquet.h"

#include <dlfcn.h>

#include "titan/base/error.h"
#include "titan/data/parquet_library.h"

namespace titan::data {
namespace {

OpenParquetFunction* load_library(const std::string& path) {
  // Found through the binary's run path, which begins with its own folder. It stays
  // loaded: readers and exceptions have their code in it.
  void* library = dlopen(kParquetLibrary, RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, kOpenParquetName);
  if (function == nullptr) {
    fail<EnvironmentError>(
        "{}: this build of titan cannot read Parquet ({}); run scripts/setup.sh "
        "and build again, or convert the file to JSONL",
        path,
        dlerror());
  }
  return reinterpret_cast<OpenParquetFunction*>(function);
}

}  // namespace

std::unique_ptr<RecordReader> open_parquet(
    const std::filesystem::path& path, const std::vector<std::string>& columns) {
  static OpenParquetFunction* const open = load_library(path.string());
  return std::unique_ptr<RecordReader>(open(path.string(), columns));
}

}  // namespace titan::data
