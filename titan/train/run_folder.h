#pragma once

#include <memory>
#include <string>
#include <vector>

#include "titan/base/files.h"
#include "titan/base/json.h"

namespace titan::train {

// The folder of one run: config.json, metrics.jsonl, checkpoint/, events/, and model/
// with the config.json and tokenizer that exports and generation need. Locked while it is
// open.
class RunFolder {
 public:
  // Creates or opens `folder` and stores `config` in it. Where a checkpoint is there, the
  // run is continued: changes of train.steps, run, metrics and validation are taken,
  // others only where a glob of `allow_changes` matches; ConfigError names the rest.
  // EnvironmentError when another process has the folder open or it cannot be written.
  RunFolder(
      const fs::path& folder,
      const Json& config,
      const std::vector<std::string>& allow_changes);

  [[nodiscard]] const fs::path& path() const { return path_; }

  [[nodiscard]] fs::path checkpoints() const { return path_ / "checkpoint"; }

  [[nodiscard]] fs::path events() const { return path_ / "events"; }

  [[nodiscard]] fs::path metrics() const { return path_ / "metrics.jsonl"; }

  [[nodiscard]] fs::path model() const { return path_ / "model"; }

 private:
  fs::path path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace titan::train
