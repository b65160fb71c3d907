#pragma once
// Model folders in the Hugging Face layout: config.json and model.safetensors, or
// model.safetensors.index.json with its shards.

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/safetensors.h"

namespace titan::checkpoint {

// An opened folder. Every shard is mapped and checked at opening, so a missing, truncated
// or foreign shard is found before the first tensor is used. Immutable, safe to share.
class HfFolder {
 public:
  // Throws InputError where files are missing (all of them are listed), FormatError where
  // config.json, the index or a shard is damaged, or where they contradict each other.
  explicit HfFolder(const fs::path& folder);
  HfFolder(HfFolder&&) = default;
  HfFolder& operator=(HfFolder&&) = default;

  [[nodiscard]] const fs::path& path() const { return path_; }

  // The content of config.json.
  [[nodiscard]] const Json& config() const { return config_; }

  // All tensors, sorted by name.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  [[nodiscard]] bool contains(const std::string& name) const {
    return files_.contains(name);
  }

  // Throws InputError that says where the tensor was looked for.
  [[nodiscard]] const SafetensorsEntry& info(const std::string& name) const;

  // A read-only view of the shard's memory map (SafetensorsFile::tensor).
  [[nodiscard]] at::Tensor tensor(const std::string& name) const;

 private:
  void open_single_file(const fs::path& file);
  void open_index(const fs::path& index);
  [[nodiscard]] const SafetensorsFile& file_of(const std::string& name) const;

  fs::path path_;
  Json config_;
  std::string source_;  // the file that lists the tensors, for messages
  std::map<std::string, SafetensorsFile> shards_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, const SafetensorsFile*> files_;
};

}  // namespace titan::checkpoint
