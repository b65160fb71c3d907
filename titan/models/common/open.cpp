#include "titan/models/common/open.h"

#include "titan/base/error.h"
#include "titan/checkpoint/checkpoint_index.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/checkpoint/hf_folder.h"
#include "titan/models/common/weights.h"

namespace titan::models {
namespace {

OpenedModel built(
    const Json& hugging_face, const fs::path& where, const CausalLmOptions& options) {
  OpenedModel opened;
  opened.hugging_face = hugging_face;
  opened.model = std::make_unique<CausalLm>(
      config_from_hugging_face(hugging_face, where.string()), options);
  opened.model->parameters().materialize();
  return opened;
}

OpenedModel open_gguf(const fs::path& path, const CausalLmOptions& options) {
  checkpoint::GgufModel gguf = checkpoint::open_gguf_model(path, at::kFloat);
  OpenedModel opened = built(gguf.config, path, options);
  load_weights(*opened.model, stored_tensors(gguf.tensors, path.string()));
  opened.gguf_tokenizer = std::move(gguf.tokenizer);
  return opened;
}

OpenedModel open_folder(const fs::path& path, const CausalLmOptions& options) {
  const checkpoint::HfFolder folder(path);
  OpenedModel opened = built(folder.config(), path / "config.json", options);
  load_weights(*opened.model, stored_tensors(folder));
  opened.files = path;
  return opened;
}

// The run keeps config.json and the tokenizer in `model`, two levels above its
// checkpoints.
OpenedModel open_checkpoint(const fs::path& path, const CausalLmOptions& options) {
  const fs::path files =
      fs::absolute(path).lexically_normal().parent_path().parent_path() / "model";
  OpenedModel opened =
      built(read_json_file(files / "config.json"), files / "config.json", options);
  const checkpoint::CheckpointReader reader(path);
  for (const auto& parameter : opened.model->parameters().parameters()) {
    reader.read("model." + parameter.name, parameter.master());
  }
  opened.model->parameters().values_changed();
  opened.files = files;
  return opened;
}

}  // namespace

OpenedModel open_model(const fs::path& path, const CausalLmOptions& options) {
  if (path.extension() == ".gguf") {
    return open_gguf(path, options);
  }
  if (fs::exists(path / checkpoint::kCheckpointState)) {
    return open_checkpoint(path, options);
  }
  if (fs::is_directory(path / "checkpoint")) {
    const auto latest = checkpoint::find_latest(path / "checkpoint");
    if (!latest.path) {
      fail<InputError>("{}: the run has no complete checkpoint yet", path.string());
    }
    return open_checkpoint(*latest.path, options);
  }
  if (fs::exists(path / "config.json")) {
    return open_folder(path, options);
  }
  fail<InputError>(
      "{}: expected a model folder (config.json), a run folder, a checkpoint or a .gguf "
      "file",
      path.string());
}

}  // namespace titan::models
