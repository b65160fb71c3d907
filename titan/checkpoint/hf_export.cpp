#include "titan/checkpoint/hf_export.h"

#include <algorithm>
#include <unordered_map>

#include "titan/base/error.h"
#include "titan/checkpoint/hf_names.h"
#include "titan/checkpoint/large_json.h"
#include "titan/checkpoint/pending_folder.h"
#include "titan/checkpoint/safetensors.h"

namespace titan::checkpoint {
namespace {

// "format" is what transformers asks for; "producer" marks a folder that may be replaced.
const SafetensorsMetadata kMetadata = {{"format", "pt"}, {"producer", "titan"}};

bool is_weight_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("model") && name.ends_with(".safetensors");
}

bool is_earlier_export(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_weight_file(entry.path())) {
      continue;
    }
    try {
      const SafetensorsFile file(entry.path());
      const auto producer = file.metadata().find("producer");
      return producer != file.metadata().end() && producer->second == "titan";
    } catch (const Error&) {
      return false;  // damaged: not known to be ours
    }
  }
  return false;
}

void check_destination(const fs::path& folder, bool replace) {
  if (!fs::exists(folder)) {
    return;
  }
  if (!fs::is_directory(folder)) {
    fail<InputError>("{}: expected a folder, got a file", folder.string());
  }
  if (!replace && !fs::is_empty(folder) && !is_earlier_export(folder)) {
    fail<InputError>(
        "{}: not empty and not an earlier export; expected a new or empty folder",
        folder.string());
  }
}

// Consecutive runs of tensors, each at most max_shard_bytes unless it is a single tensor.
std::vector<std::vector<const TensorSource*>> split_into_shards(const HfExport& content) {
  std::vector<std::vector<const TensorSource*>> shards(1);
  uint64_t bytes = 0;
  for (const TensorSource& source : content.tensors) {
    const uint64_t more = source.spec.nbytes();
    if (!shards.back().empty() && bytes + more > content.max_shard_bytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(&source);
    bytes += more;
  }
  return shards;
}

void write_shard(const fs::path& path, const std::vector<const TensorSource*>& sources) {
  std::vector<TensorSpec> specs;
  std::unordered_map<std::string, const TensorSource*> by_name;
  for (const TensorSource* source : sources) {
    specs.push_back(source->spec);
    by_name.emplace(source->spec.name, source);
  }
  SafetensorsWriter writer(path, std::move(specs), kMetadata);
  for (const TensorSpec& spec : writer.order()) {
    writer.write(by_name.at(spec.name)->load());
  }
  writer.sync_and_close();
}

void write_text(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.sync_and_close();
}

void write_weights(const fs::path& folder, const HfExport& content) {
  const auto shards = split_into_shards(content);
  if (shards.size() == 1) {
    write_shard(folder / kHfSingleFile, shards.front());
    return;
  }
  LargeJson weight_map = LargeJson::object();
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    for (const TensorSource* source : shards[i]) {
      if (!weight_map.emplace(source->spec.name, name).second) {
        fail<InputError>(
            "{}: tensor \"{}\" is given twice", folder.string(), source->spec.name);
      }
      total += source->spec.nbytes();
    }
    write_shard(folder / name, shards[i]);
  }
  const LargeJson index = {
      {"metadata", {{"total_size", total}}}, {"weight_map", std::move(weight_map)}};
  write_text(folder / kHfIndex, index.dump(2) + "\n");
}

}  // namespace

TensorSource tensor_source(std::string name, at::Tensor tensor) {
  TensorSpec spec{std::move(name), tensor.scalar_type(), tensor.sizes().vec()};
  return {std::move(spec), [tensor = std::move(tensor)] { return tensor; }};
}

void save_hf_folder(const fs::path& folder, const HfExport& content) {
  check_destination(folder, content.replace);
  PendingFolder pending(folder);
  write_weights(pending.path(), content);
  for (const auto& [name, text] : content.files) {
    write_text(pending.path() / name, text);
  }
  write_text(pending.path() / kHfConfig, content.config.dump(2) + "\n");
  pending.commit();
}

}  // namespace titan::checkpoint
