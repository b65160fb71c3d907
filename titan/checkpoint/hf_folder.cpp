#include "titan/checkpoint/hf_folder.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/base/nearest.h"
#include "titan/checkpoint/hf_names.h"
#include "titan/checkpoint/large_json.h"

namespace titan::checkpoint {
namespace {

using WeightMap = std::map<std::string, std::string>;  // tensor -> shard

// At most this many names are spelled out in a message.
constexpr size_t kListed = 5;

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kListed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > shown) {
    text += fmt::format(" and {} more", names.size() - shown);
  }
  return text;
}

WeightMap read_weight_map(const fs::path& index) {
  const LargeJson json = read_large_json(index);
  const auto map = json.find("weight_map");
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    fail<FormatError>(
        "{}: expected an object \"weight_map\" of tensor and file names", index.string());
  }
  WeightMap result;
  for (const auto& [name, shard] : map->items()) {
    if (!shard.is_string()) {
      fail<FormatError>(
          "{}: weight_map: {}: expected a file name, got {}",
          index.string(),
          name,
          shard.dump());
    }
    const auto& file = shard.get_ref<const std::string&>();
    if (file.empty() || fs::path(file).filename() != file || file == "..") {
      fail<FormatError>(
          "{}: weight_map: {}: expected a file name in this folder, got \"{}\"",
          index.string(),
          name,
          file);
    }
    result.emplace(name, file);
  }
  return result;
}

void check_shards_exist(
    const fs::path& folder, const WeightMap& map, const fs::path& index) {
  std::map<std::string, std::string> missing;  // shard -> one of its tensors
  for (const auto& [name, shard] : map) {
    if (!fs::exists(folder / shard)) {
      missing.emplace(shard, name);
    }
  }
  if (missing.empty()) {
    return;
  }
  std::vector<std::string> lines;
  for (const auto& [shard, tensor] : missing) {
    lines.push_back(fmt::format("{} (with {})", shard, tensor));
  }
  fail<InputError>(
      "{}: {} of its files are not in the folder: {}",
      index.string(),
      missing.size(),
      fmt::join(lines, ", "));
}

}  // namespace

HfFolder::HfFolder(const fs::path& folder)
    : path_(folder), config_(read_json_file(folder / kHfConfig)) {
  if (!config_.is_object()) {
    fail<FormatError>("{}: expected an object", (folder / kHfConfig).string());
  }
  const fs::path index = folder / kHfIndex;
  const fs::path single = folder / kHfSingleFile;
  if (fs::exists(index)) {
    open_index(index);
    if (fs::exists(single) && !shards_.contains(kHfSingleFile)) {
      fail<InputError>(
          "{}: holds {} and an index that does not name it; remove one of the two",
          folder.string(),
          kHfSingleFile);
    }
  } else if (fs::exists(single)) {
    open_single_file(single);
  } else {
    fail<InputError>(
        "{}: expected {} or {}, found neither", folder.string(), kHfSingleFile, kHfIndex);
  }
}

void HfFolder::open_single_file(const fs::path& file) {
  source_ = kHfSingleFile;
  const auto& shard = shards_.emplace(kHfSingleFile, SafetensorsFile(file)).first->second;
  names_ = shard.names();
  std::sort(names_.begin(), names_.end());
  for (const std::string& name : names_) {
    files_.emplace(name, &shard);
  }
}

void HfFolder::open_index(const fs::path& index) {
  source_ = kHfIndex;
  const WeightMap map = read_weight_map(index);
  check_shards_exist(path_, map, index);
  for (const auto& [name, shard] : map) {
    auto open = shards_.find(shard);
    if (open == shards_.end()) {
      open = shards_.emplace(shard, SafetensorsFile(path_ / shard)).first;
    }
    if (!open->second.contains(name)) {
      fail<FormatError>(
          "{}: places tensor \"{}\" in {}, which is there but does not hold it",
          index.string(),
          name,
          shard);
    }
    names_.push_back(name);
    files_.emplace(name, &open->second);
  }
  std::unordered_map<std::string, std::string> holders;
  std::vector<std::string> unlisted;
  for (const auto& [shard, file] : shards_) {
    for (const std::string& name : file.names()) {
      const auto [holder, first] = holders.emplace(name, shard);
      if (!first) {
        fail<FormatError>(
            "{}: tensor \"{}\" is in {} and in {}",
            path_.string(),
            name,
            holder->second,
            shard);
      }
      if (!map.contains(name)) {
        unlisted.push_back(fmt::format("{} in {}", name, shard));
      }
    }
  }
  if (!unlisted.empty()) {
    log::warning(
        "{}: does not list {} of the tensors in its files, which are left out: {}",
        index.string(),
        unlisted.size(),
        listed(unlisted));
  }
}

const SafetensorsFile& HfFolder::file_of(const std::string& name) const {
  const auto found = files_.find(name);
  if (found != files_.end()) {
    return *found->second;
  }
  const std::string nearest = nearest_name(name, names_);
  fail<InputError>(
      "{}: tensor \"{}\" is not in {}{}",
      path_.string(),
      name,
      source_,
      nearest.empty() ? "" : fmt::format("; the nearest name is \"{}\"", nearest));
}

const SafetensorsEntry& HfFolder::info(const std::string& name) const {
  return file_of(name).info(name);
}

at::Tensor HfFolder::tensor(const std::string& name) const {
  return file_of(name).tensor(name);
}

}  // namespace titan::checkpoint
