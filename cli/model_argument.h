#pragma once

#include <string>
#include <vector>

#include "titan/checkpoint/hf_export.h"
#include "titan/models/common/open.h"
#include "titan/text/tokenizer.h"

namespace titan::cli {

// fp32 or bf16 as an at::ScalarType; InputError for anything else.
[[nodiscard]] at::ScalarType dtype_argument(const std::string& name);

// The tokenizer of an opened model, checked against its vocabulary.
[[nodiscard]] text::Tokenizer tokenizer_of(const models::OpenedModel& opened);

// The files of a Hugging Face tokenizer that say what the GGUF file's metadata say.
[[nodiscard]] std::vector<checkpoint::TextFile> tokenizer_files(
    const checkpoint::GgufTokenizer& gguf);

}  // namespace titan::cli
