#include "titan/train/model_files.h"

#include "titan/base/error.h"
#include "titan/models/common/weights.h"

namespace titan::train {
namespace {

fs::path tokenizer_path(const TrainConfig& config) {
  const std::string& path =
      config.data.tokenizer.empty() ? config.model.path : config.data.tokenizer;
  if (path.empty()) {
    throw ConfigError(
        "data.tokenizer: expected a tokenizer.json or its folder, got nothing (and "
        "model.path "
        "names no model folder that has one)");
  }
  return path;
}

}  // namespace

text::Tokenizer open_tokenizer(const TrainConfig& config) {
  return text::Tokenizer::load(tokenizer_path(config));
}

void store_model_files(
    const TrainConfig& config, const models::CausalLm& model, const fs::path& folder) {
  Json source;
  if (!config.model.path.empty()) {
    source = read_json_file(fs::path(config.model.path) / "config.json");
  }
  write_file_atomic(
      folder / "config.json",
      models::export_config(model, source, at::kFloat).dump(2) + "\n");
  const fs::path tokenizer = tokenizer_path(config);
  if (!fs::is_directory(tokenizer)) {
    write_file_atomic(folder / "tokenizer.json", read_file(tokenizer));
    return;
  }
  for (const char* name : models::kTokenizerFiles) {
    if (fs::exists(tokenizer / name)) {
      write_file_atomic(folder / name, read_file(tokenizer / name));
    }
  }
}

}  // namespace titan::train
