#include "titan/checkpoint/pending_folder.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>

#include "titan/base/error.h"
#include "titan/base/log.h"

namespace titan::checkpoint {
namespace {

fs::path with_suffix(const fs::path& folder, const char* suffix) {
  fs::path result = folder;
  result += suffix;
  return result;
}

fs::path without_trailing_slash(const fs::path& folder) {
  const fs::path normal = folder.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

void rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) {
    fail<EnvironmentError>(
        "{}: cannot rename to {}: {}",
        from.string(),
        to.filename().string(),
        error.message());
  }
}

// Swaps the two names in one step, so that `final` is never absent. File systems without
// that operation need two renames.
void exchange_folders(const fs::path& partial, const fs::path& final) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) ==
      0) {
    return;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    fail<EnvironmentError>(
        "{}: cannot exchange with {}: {}",
        partial.string(),
        final.filename().string(),
        errno_text(errno));
  }
  const fs::path trash = with_suffix(final, ".trash");
  rename_folder(final, trash);
  rename_folder(partial, final);
  rename_folder(trash, partial);
}

void remove_tree(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) {
    fail<EnvironmentError>("{}: cannot remove: {}", folder.string(), error.message());
  }
}

}  // namespace

PendingFolder::PendingFolder(const fs::path& folder)
    : final_(without_trailing_slash(fs::absolute(folder))),
      partial_(with_suffix(final_, ".partial")) {
  if (fs::exists(partial_)) {
    log::warning("{}: left by an interrupted save, replaced", partial_.string());
    remove_tree(partial_);
  }
  make_folders(partial_);
}

PendingFolder::~PendingFolder() {
  if (!committed_) {
    std::error_code ignored;  // what stays is replaced by the next writer
    fs::remove_all(partial_, ignored);
  }
}

void PendingFolder::commit() {
  sync_folder(partial_);
  const bool replaces = fs::exists(fs::symlink_status(final_));
  if (replaces) {
    exchange_folders(partial_, final_);
  } else {
    rename_folder(partial_, final_);
  }
  committed_ = true;
  sync_folder(final_.parent_path());
  if (replaces) {
    remove_tree(partial_);
  }
}

void remove_folder(const fs::path& folder) {
  const fs::path trash = with_suffix(without_trailing_slash(folder), ".trash");
  remove_tree(trash);
  if (fs::exists(fs::symlink_status(folder))) {
    rename_folder(folder, trash);
    remove_tree(trash);
  }
}

}  // namespace titan::checkpoint
