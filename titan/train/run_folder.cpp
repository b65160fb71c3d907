#include "titan/train/run_folder.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/base/nearest.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/config/dump.h"

namespace titan::train {
namespace {

// What a continued run may always change: it does not touch the state that was saved.
constexpr std::array kFreeToChange = {
    "train.steps", "run.*", "metrics.*", "validation.*", "data.threads", "data.prefetch"};

bool may_change(const std::string& path, const std::vector<std::string>& allowed) {
  const auto matches = [&](const auto& glob) { return glob_match(glob, path); };
  return std::any_of(kFreeToChange.begin(), kFreeToChange.end(), matches) ||
         std::any_of(allowed.begin(), allowed.end(), matches);
}

void compare(
    const fs::path& file,
    const Json& stored,
    const Json& given,
    const std::vector<std::string>& allowed) {
  std::vector<std::string> refused;
  for (const config::Difference& difference : config::diff(stored, given)) {
    if (may_change(difference.path, allowed)) {
      log::info("continuing with {}", config::describe(difference));
    } else {
      refused.push_back(config::describe(difference));
    }
  }
  if (!refused.empty()) {
    fail<ConfigError>(
        "{}: the run was started with another config; use a new run.folder, or allow it "
        "with "
        "run.allow_changes:\n{}",
        file.string(),
        fmt::join(refused, "\n"));
  }
}

}  // namespace

RunFolder::RunFolder(
    const fs::path& folder,
    const Json& config,
    const std::vector<std::string>& allow_changes)
    : path_(folder) {
  make_folders(path_);
  lock_ = std::make_unique<FileLock>(path_ / "lock", path_.string());
  const fs::path file = path_ / "config.json";
  if (fs::exists(file) && checkpoint::find_latest(checkpoints()).path) {
    compare(file, read_json_file(file), config, allow_changes);
  }
  make_folders(checkpoints());
  make_folders(model());
  write_file_atomic(file, config.dump(2) + "\n");
}

}  // namespace titan::train
