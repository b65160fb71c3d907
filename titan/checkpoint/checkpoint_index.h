#pragma once
// The folder of one training checkpoint, <run>/checkpoint/step-00000010/:
//   model-00001.safetensors ...      parameters
//   optimizer-00001.safetensors ...  tensors whose name starts with "optimizer."
//   state.json   {"format_version", "step", "state": what the trainer gave}
//   index.json   {"format_version", "files": {file: bytes}, "tensors": {name: {"dtype",
//                "shape", "regions": [{"file", "key", "offset", "shape"}]}}}
// A tensor is stored as boxes of its global shape, one for each part that a writer held;
// so any other split of it can be read back. index.json is written last.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "titan/base/files.h"

namespace titan::checkpoint {

inline constexpr int64_t kCheckpointFormat = 1;
inline constexpr const char* kCheckpointIndex = "index.json";
inline constexpr const char* kCheckpointState = "state.json";

// A box of a tensor: `shape` elements from `offset` on, in each dim.
struct StoredRegion {
  std::string file;
  std::string key;  // the tensor's name within the file
  std::vector<int64_t> offset;
  std::vector<int64_t> shape;
};

struct StoredTensor {
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<int64_t> shape;  // the global one
  std::vector<StoredRegion> regions;
};

struct CheckpointIndex {
  std::map<std::string, uint64_t> files;  // every file but index.json, with its size
  std::map<std::string, StoredTensor> tensors;
};

[[nodiscard]] std::string index_text(const CheckpointIndex& index);

// Reads index.json and checks it against the folder: every file is there with its size,
// and the regions of each tensor cover it exactly once. Throws InputError where
// index.json cannot be read, FormatError for everything else.
[[nodiscard]] CheckpointIndex read_checkpoint_index(const fs::path& folder);

// Throws FormatError, beginning with `what`, unless the regions lie in the tensor's shape
// and cover it exactly once.
void check_regions(
    const std::string& what, const std::string& name, const StoredTensor& tensor);

// "step-00000010", and back; nullopt for any other name.
[[nodiscard]] std::string step_folder_name(int64_t step);
[[nodiscard]] std::optional<int64_t> parse_step_folder(const std::string& name);

}  // namespace titan::checkpoint
