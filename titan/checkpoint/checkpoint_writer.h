#pragma once
// Saving training checkpoints (checkpoint_index.h has the layout): asynchronous, atomic,
// and without a copy of the state.

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"

namespace titan::checkpoint {

// The part of a tensor that this process holds.
struct TensorRegion {
  std::string name;                   // "optimizer.*" goes to the optimizer's files
  std::vector<int64_t> global_shape;  // of the whole tensor
  std::vector<int64_t> offset;        // of the part, in each dim
  at::Tensor data;                    // the part; read until wait_staged() returns
};

// The region that is the whole tensor.
[[nodiscard]] TensorRegion whole_tensor(std::string name, at::Tensor data);

struct CheckpointOptions {
  // After a commit only this many of the newest complete checkpoints stay, the one just
  // committed always among them; 0 keeps all.
  int64_t keep_latest = 0;
  // Write in the background; otherwise begin() returns after the commit.
  bool async = true;
  // Tensor data in one file, unless a single tensor has more.
  int64_t max_file_bytes = int64_t{4} << 30;
};

// The only writer of one folder of checkpoints. Calls come from one thread. A failed save
// throws from the next call (the destructor logs it); it leaves nothing under a committed
// name and earlier checkpoints as they were.
//
//   writer.begin(step, state, regions);   // training may read the tensors meanwhile
//   ... forward, backward ...
//   writer.wait_staged();                 // now they may change
//   optimizer.step();
class CheckpointWriter {
 public:
  // The folder is created at the first save. Throws ConfigError for a negative option.
  CheckpointWriter(fs::path folder, const CheckpointOptions& options);
  // Waits for a save in progress.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Waits for the save before, then starts this one. `state` is any JSON value: config,
  // data cursor, random number counters. Throws FormatError where the regions do not
  // cover each tensor exactly once or disagree on its shape or dtype. Errors of writing
  // (disk full) are EnvironmentError.
  void begin(int64_t step, Json state, std::vector<TensorRegion> regions);

  // Returns once the live tensors may change: all data have been handed to the kernel.
  void wait_staged();

  // Returns once the save is committed and durable and older ones are purged.
  void wait();

 private:
  struct Save;
  void run(Save& save);
  void purge(int64_t committed) const;

  fs::path folder_;
  CheckpointOptions options_;
  std::promise<bool> staging_;  // true: all data are written
  std::future<bool> staged_;
  std::future<void> done_;
};

}  // namespace titan::checkpoint
