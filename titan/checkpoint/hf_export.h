#pragma once
// Writing model folders in the Hugging Face layout (hf_folder.h reads them).

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/checkpoint/safetensors_writer.h"

namespace titan::checkpoint {

// A tensor that is made when it is needed: peak memory stays at one tensor.
struct TensorSource {
  TensorSpec spec;
  std::function<at::Tensor()> load;  // gives spec.dtype and spec.shape; called once
};

// A source for a tensor that is in memory already.
[[nodiscard]] TensorSource tensor_source(std::string name, at::Tensor tensor);

struct TextFile {
  std::string name;  // within the folder, e.g. "tokenizer.json"
  std::string text;
};

struct HfExport {
  Json config;
  std::vector<TensorSource> tensors;
  std::vector<TextFile> files;  // written beside config.json
  uint64_t max_shard_bytes =
      5'000'000'000;     // of tensor data; more gives shards and an index
  bool replace = false;  // also a non-empty folder that is not an earlier export
};

// Writes the folder whole or not at all: a failure leaves what was there before. Replaces
// an empty folder and an earlier export of titan; throws InputError for any other
// non-empty folder unless `replace`, EnvironmentError where the disk refuses.
void save_hf_folder(const fs::path& folder, const HfExport& content);

}  // namespace titan::checkpoint
