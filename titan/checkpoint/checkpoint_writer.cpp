#include "titan/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/checkpoint/checkpoint_index.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/checkpoint/pending_folder.h"
#include "titan/checkpoint/region.h"
#include "titan/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {
namespace {

constexpr std::string_view kOptimizerPrefix = "optimizer.";

// One safetensors file to be written.
struct PlannedFile {
  std::string name;
  std::vector<TensorSpec> specs;
  std::map<std::string, at::Tensor> tensors;  // by key
  int64_t bytes = 0;
};

// Assigns regions to the files of one kind ("model", "optimizer") in the order given.
class FilePlanner {
 public:
  FilePlanner(std::string kind, int64_t max_bytes)
      : kind_(std::move(kind)), max_bytes_(max_bytes) {}

  // Returns the name of the file that takes the tensor.
  const std::string& add(const std::string& key, const at::Tensor& data) {
    const auto bytes = static_cast<int64_t>(data.nbytes());
    if (files_.empty() ||
        (files_.back().bytes > 0 && files_.back().bytes + bytes > max_bytes_)) {
      files_.emplace_back();
      files_.back().name = fmt::format("{}-{:05}.safetensors", kind_, files_.size());
    }
    PlannedFile& file = files_.back();
    file.specs.push_back({key, data.scalar_type(), data.sizes().vec()});
    file.tensors.emplace(key, data);
    file.bytes += bytes;
    return file.name;
  }

  [[nodiscard]] std::vector<PlannedFile>& files() { return files_; }

 private:
  std::string kind_;
  int64_t max_bytes_;
  std::vector<PlannedFile> files_;
};

// Two parts of one tensor may stand in one file.
std::string key_of(const TensorRegion& region) {
  if (region.data.sizes() == region.global_shape) {
    return region.name;
  }
  return fmt::format("{}@{}", region.name, fmt::join(region.offset, ","));
}

void add_to_index(
    CheckpointIndex& index,
    const TensorRegion& region,
    const std::string& key,
    const std::string& file) {
  const auto [entry, first] = index.tensors.try_emplace(region.name);
  StoredTensor& tensor = entry->second;
  if (first) {
    tensor.dtype = region.data.scalar_type();
    tensor.shape = region.global_shape;
  } else if (
      tensor.dtype != region.data.scalar_type() || tensor.shape != region.global_shape) {
    fail<FormatError>(
        "checkpoint: {}: one region is {} [{}], another {} [{}]",
        region.name,
        c10::toString(tensor.dtype),
        fmt::join(tensor.shape, ", "),
        c10::toString(region.data.scalar_type()),
        fmt::join(region.global_shape, ", "));
  }
  tensor.regions.push_back({file, key, region.offset, region.data.sizes().vec()});
}

std::string state_text(int64_t step, Json state) {
  const Json document = {
      {"format_version", kCheckpointFormat}, {"step", step}, {"state", std::move(state)}};
  return document.dump(1) + "\n";
}

void write_text(const fs::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.sync_and_close();
}

// What killed writers of other steps left behind.
void remove_leftovers(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const bool leftover = path.extension() == ".partial" || path.extension() == ".trash";
    if (leftover && parse_step_folder(path.stem().string())) {
      log::warning("{}: left by an interrupted save, removed", path.string());
      fs::remove_all(path);
    }
  }
}

}  // namespace

struct CheckpointWriter::Save {
  int64_t step;
  std::string state;
  CheckpointIndex index;
  std::vector<PlannedFile> files;
};

TensorRegion whole_tensor(std::string name, at::Tensor data) {
  std::vector<int64_t> shape = data.sizes().vec();
  std::vector<int64_t> offset(shape.size(), 0);
  return {std::move(name), std::move(shape), std::move(offset), std::move(data)};
}

CheckpointWriter::CheckpointWriter(fs::path folder, const CheckpointOptions& options)
    : folder_(std::move(folder)), options_(options) {
  if (options.keep_latest < 0) {
    fail<ConfigError>(
        "checkpoint: keep_latest: expected 0 or more, got {}", options.keep_latest);
  }
  if (options.max_file_bytes < 1) {
    fail<ConfigError>(
        "checkpoint: max_file_bytes: expected 1 or more, got {}", options.max_file_bytes);
  }
}

CheckpointWriter::~CheckpointWriter() {
  try {
    wait();
  } catch (const std::exception& error) {
    log::error("checkpoint not saved: {}", error.what());
  }
}

void CheckpointWriter::begin(
    int64_t step, Json state, std::vector<TensorRegion> regions) {
  wait();
  auto save = std::make_shared<Save>();
  save->step = step;
  save->state = state_text(step, std::move(state));
  FilePlanner model("model", options_.max_file_bytes);
  FilePlanner optimizer("optimizer", options_.max_file_bytes);
  for (const TensorRegion& region : regions) {
    if (region.data.numel() == 0 && volume(region.global_shape) != 0) {
      continue;  // an uneven split left this process nothing
    }
    FilePlanner& planner = region.name.starts_with(kOptimizerPrefix) ? optimizer : model;
    const std::string key = key_of(region);
    add_to_index(save->index, region, key, planner.add(key, region.data));
  }
  for (const auto& [name, tensor] : save->index.tensors) {
    check_regions("checkpoint", name, tensor);
  }
  for (FilePlanner* planner : {&model, &optimizer}) {
    std::move(
        planner->files().begin(),
        planner->files().end(),
        std::back_inserter(save->files));
  }
  staging_ = {};
  staged_ = staging_.get_future();
  done_ = std::async(std::launch::async, [this, save] { run(*save); });
  if (!options_.async) {
    wait();
  }
}

void CheckpointWriter::wait_staged() {
  if (staged_.valid() && !staged_.get()) {
    wait();
  }
}

void CheckpointWriter::wait() {
  if (done_.valid()) {
    done_.get();
  }
}

void CheckpointWriter::run(Save& save) {
  const fs::path folder = folder_ / step_folder_name(save.step);
  std::vector<std::unique_ptr<SafetensorsWriter>> writers;
  std::optional<PendingFolder> pending;
  try {
    if (fs::exists(folder)) {
      log::warning("{}: is there already and will be replaced", folder.string());
    }
    pending.emplace(folder);
    for (PlannedFile& file : save.files) {
      const fs::path path = pending->path() / file.name;
      auto writer = std::make_unique<SafetensorsWriter>(path, std::move(file.specs));
      for (const TensorSpec& spec : writer->order()) {
        writer->write(file.tensors.at(spec.name));
      }
      save.index.files[file.name] = writer->file_bytes();
      writers.push_back(std::move(writer));
    }
  } catch (...) {
    save.files.clear();
    staging_.set_value(false);
    throw;
  }
  save.files.clear();
  staging_.set_value(true);
  for (const auto& writer : writers) {
    writer->sync_and_close();
  }
  write_text(pending->path() / kCheckpointState, save.state);
  save.index.files[kCheckpointState] = save.state.size();
  write_text(pending->path() / kCheckpointIndex, index_text(save.index));
  pending->commit();
  purge(save.step);
}

// A failure here costs disk space only: the save stands.
void CheckpointWriter::purge(int64_t committed) const {
  try {
    remove_leftovers(folder_);
    if (options_.keep_latest == 0) {
      return;
    }
    int64_t kept = 1;
    for (const fs::path& old : complete_checkpoints(folder_)) {
      const bool newest = old.filename() == step_folder_name(committed);
      if (!newest && ++kept > options_.keep_latest) {
        remove_folder(old);
      }
    }
  } catch (const std::exception& error) {
    log::warning("old checkpoints stay: {}", error.what());
  }
}

}  // namespace titan::checkpoint
