#include "titan/checkpoint/checkpoint_reader.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/base/nearest.h"
#include "titan/checkpoint/region.h"

namespace titan::checkpoint {
namespace {

constexpr std::string_view kPartial = ".partial";

struct StepFolder {
  int64_t step;
  bool partial;  // its writer was killed before the commit
  fs::path path;
};

// Newest first; a partial folder after the committed one of its step.
std::vector<StepFolder> step_folders(const fs::path& folder) {
  std::vector<StepFolder> found;
  if (!fs::is_directory(folder)) {
    return found;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    const bool partial = name.ends_with(kPartial);
    if (partial) {
      name.resize(name.size() - kPartial.size());
    }
    if (const auto step = parse_step_folder(name)) {
      found.push_back({*step, partial, entry.path()});
    }
  }
  std::sort(found.begin(), found.end(), [](const StepFolder& a, const StepFolder& b) {
    return std::pair(-a.step, a.partial) < std::pair(-b.step, b.partial);
  });
  return found;
}

// Why the folder is not complete; empty where it is.
std::string defect(const StepFolder& folder) {
  if (folder.partial) {
    return "the save was not finished";
  }
  try {
    (void)read_checkpoint_index(folder.path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

LatestCheckpoint find_latest(const fs::path& folder) {
  LatestCheckpoint latest;
  for (const StepFolder& candidate : step_folders(folder)) {
    const std::string reason = defect(candidate);
    if (reason.empty()) {
      latest.path = candidate.path;
      latest.step = candidate.step;
      break;
    }
    latest.skipped.push_back({candidate.path, reason});
  }
  return latest;
}

std::vector<fs::path> complete_checkpoints(const fs::path& folder) {
  std::vector<fs::path> complete;
  for (const StepFolder& candidate : step_folders(folder)) {
    if (defect(candidate).empty()) {
      complete.push_back(candidate.path);
    }
  }
  return complete;
}

CheckpointReader::CheckpointReader(const fs::path& step_folder)
    : folder_(step_folder), index_(read_checkpoint_index(step_folder)) {
  const fs::path state_file = folder_ / kCheckpointState;
  const std::string what = state_file.string();
  Json document = read_json_file(state_file);
  const auto version = json_get<int64_t>(document, "format_version", what);
  if (version != kCheckpointFormat) {
    fail<FormatError>(
        "{}: format_version: expected {}, got {}", what, kCheckpointFormat, version);
  }
  step_ = json_get<int64_t>(document, "step", what);
  if (!document.contains("state")) {
    fail<FormatError>("{}: state is missing", what);
  }
  state_ = std::move(document["state"]);
  check_contents();
}

// Opens every file and compares each region with what its file says.
void CheckpointReader::check_contents() {
  for (const auto& [name, tensor] : index_.tensors) {
    for (const StoredRegion& region : tensor.regions) {
      auto file = files_.find(region.file);
      if (file == files_.end()) {
        file = files_.emplace(region.file, SafetensorsFile(folder_ / region.file)).first;
      }
      const SafetensorsEntry& entry = file->second.info(region.key);
      if (entry.dtype->scalar != tensor.dtype || entry.shape != region.shape) {
        fail<FormatError>(
            "{}: {}: index.json says {} [{}], the file {} [{}]",
            (folder_ / region.file).string(),
            region.key,
            find_safetensors_dtype(tensor.dtype)->name,
            fmt::join(region.shape, ", "),
            entry.dtype->name,
            fmt::join(entry.shape, ", "));
      }
    }
  }
}

std::vector<std::string> CheckpointReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : index_.tensors) {
    names.push_back(name);
  }
  return names;
}

const StoredTensor& CheckpointReader::stored(const std::string& name) const {
  const auto found = index_.tensors.find(name);
  if (found == index_.tensors.end()) {
    const std::string nearest = nearest_name(name, names());
    fail<InputError>(
        "{}: no tensor \"{}\"{}",
        folder_.string(),
        name,
        nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  }
  return found->second;
}

const std::vector<int64_t>& CheckpointReader::shape(const std::string& name) const {
  return stored(name).shape;
}

at::ScalarType CheckpointReader::dtype(const std::string& name) const {
  return stored(name).dtype;
}

void CheckpointReader::read(
    const std::string& name,
    const at::Tensor& destination,
    std::vector<int64_t> offset) const {
  const StoredTensor& tensor = stored(name);
  const Box wanted{
      offset.empty() ? std::vector<int64_t>(tensor.shape.size(), 0) : std::move(offset),
      destination.sizes().vec()};
  if (destination.scalar_type() != tensor.dtype || !lies_within(wanted, tensor.shape)) {
    fail<InputError>(
        "{}: {}: expected a part of {} [{}], got {} [{}] at [{}]",
        folder_.string(),
        name,
        c10::toString(tensor.dtype),
        fmt::join(tensor.shape, ", "),
        c10::toString(destination.scalar_type()),
        fmt::join(wanted.shape, ", "),
        fmt::join(wanted.offset, ", "));
  }
  for (const StoredRegion& region : tensor.regions) {
    const auto common = intersection(wanted, {region.offset, region.shape});
    if (!common) {
      continue;
    }
    const SafetensorsFile& file = files_.at(region.file);
    at::Tensor from = file.tensor(region.key);
    at::Tensor to = destination.detach();
    for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
      const auto d = static_cast<int64_t>(dim);
      const int64_t begin = common->offset[dim];
      from = from.narrow(d, begin - region.offset[dim], common->shape[dim]);
      to = to.narrow(d, begin - wanted.offset[dim], common->shape[dim]);
    }
    to.copy_(from);
    // A state is read once; its file's pages must not stand beside the copy in memory.
    file.forget(region.key);
  }
}

}  // namespace titan::checkpoint
