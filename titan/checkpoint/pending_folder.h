#pragma once
// A folder that appears under its name only when it is complete and durable.

#include "titan/base/files.h"

namespace titan::checkpoint {

// Collects files in "<name>.partial" beside the folder. commit() makes it "<name>";
// without it the destructor removes everything. Not thread-safe; one writer a folder.
class PendingFolder {
 public:
  // Creates the parent folders and an empty partial folder; what a killed writer left
  // there is removed. Throws EnvironmentError.
  explicit PendingFolder(const fs::path& folder);
  ~PendingFolder();
  PendingFolder(const PendingFolder&) = delete;
  PendingFolder& operator=(const PendingFolder&) = delete;

  // Where the files go.
  [[nodiscard]] const fs::path& path() const { return partial_; }

  // REQUIRES: every file in path() was synced. Renames to the final name, durably. A
  // folder of that name changes places with the new one and is then removed. Throws
  // EnvironmentError.
  void commit();

 private:
  fs::path final_;
  fs::path partial_;
  bool committed_ = false;
};

// Renames `folder` to "<folder>.trash", then deletes it, so that a kill in between never
// leaves half of it under its name. An absent folder is no error. Throws
// EnvironmentError.
void remove_folder(const fs::path& folder);

}  // namespace titan::checkpoint
