#pragma once
// Finding and loading training checkpoints (checkpoint_index.h has the layout).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/checkpoint_index.h"
#include "titan/checkpoint/safetensors.h"

namespace titan::checkpoint {

// The newest checkpoint that is complete, and what stands above it but is not.
struct LatestCheckpoint {
  struct Skipped {
    fs::path path;
    std::string reason;
  };

  std::optional<fs::path> path;  // of its folder; nullopt where none is complete
  int64_t step = -1;
  std::vector<Skipped> skipped;  // newest first
};

// Complete means by content: index.json parses, all files are there with the right size.
// A folder that does not exist holds none.
[[nodiscard]] LatestCheckpoint find_latest(const fs::path& folder);

// All complete checkpoints, newest first.
[[nodiscard]] std::vector<fs::path> complete_checkpoints(const fs::path& folder);

// One opened checkpoint, memory-mapped and fully checked. Immutable, safe to share.
class CheckpointReader {
 public:
  // Throws InputError where files cannot be read, FormatError where they are damaged or
  // contradict each other.
  explicit CheckpointReader(const fs::path& step_folder);

  [[nodiscard]] const fs::path& path() const { return folder_; }

  [[nodiscard]] int64_t step() const { return step_; }

  // What the trainer gave to CheckpointWriter::begin.
  [[nodiscard]] const Json& state() const { return state_; }

  // Sorted.
  [[nodiscard]] std::vector<std::string> names() const;

  [[nodiscard]] bool contains(const std::string& name) const {
    return index_.tensors.contains(name);
  }

  // These throw InputError with the nearest name when there is no such tensor.
  [[nodiscard]] const std::vector<int64_t>& shape(const std::string& name) const;
  [[nodiscard]] at::ScalarType dtype(const std::string& name) const;

  // Copies the box of the global tensor that begins at `offset` (empty: at its first
  // element) and has the destination's shape into `destination`, whatever regions it was
  // saved as. Throws InputError where the dtype differs or the box leaves the tensor.
  void read(
      const std::string& name,
      const at::Tensor& destination,
      std::vector<int64_t> offset = {}) const;

 private:
  [[nodiscard]] const StoredTensor& stored(const std::string& name) const;
  void check_contents();

  fs::path folder_;
  CheckpointIndex index_;
  int64_t step_ = -1;
  Json state_;
  std::map<std::string, SafetensorsFile> files_;
};

}  // namespace titan::checkpoint
