#pragma once
// Event files for TensorBoard. Format: a sequence of records (length, masked CRC-32C of
// the length, data, masked CRC-32C of the data; little endian), each holding one protobuf
// message `Event` (tensorflow/core/util/event.proto, framework/summary.proto).

#include <cstdint>
#include <string>

#include "titan/base/files.h"
#include "titan/observe/metrics.h"

namespace titan::observe {

// One new file events.out.tfevents.TIME.HOST.PID. Not thread-safe.
class TensorboardWriter {
 public:
  // Creates `folder` and the file. TensorBoard drops what older files of the folder hold
  // from `first_step` on: a resumed run writes those steps again.
  TensorboardWriter(const fs::path& folder, int64_t first_step);

  // Every value as a scalar named like the metric, in single precision as the format has
  // it.
  void write(const StepMetrics& metrics);

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  OutputFile file_;
};

}  // namespace titan::observe
