#pragma once
// Making files of tokens from other sources, once, so that training need not tokenise.

#include <cstdint>
#include <filesystem>

#include "titan/data/config.h"
#include "titan/data/intake.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

struct TokenizeResult {
  DocumentCounts counts;
  int64_t tokens = 0;
  int64_t files = 0;
};

// Writes all documents of config.sources, each once and in the order of the sources, as
// tokens-00000.safetensors and so on, a new file when one has `tokens_per_file` ids.
// Documents without a token to predict are left out and counted. `folder` appears when
// it is complete; a folder FOLDER.partial of an interrupted call is made anew.
// InputError: the folder is there already. Further errors as of Loader.
[[nodiscard]] TokenizeResult write_token_files(
    const DataConfig& config,
    const text::Tokenizer& tokenizer,
    const std::filesystem::path& folder,
    int64_t tokens_per_file);

}  // namespace titan::data
