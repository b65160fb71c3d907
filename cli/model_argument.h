#pragma once

#include <optional>
#include <string>

#include "titan/models/common/open.h"
#include "titan/text/gguf_tokenizer.h"
#include "titan/text/tokenizer.h"

namespace titan::cli {

// fp32 or bf16 as an at::ScalarType; InputError for anything else.
[[nodiscard]] at::ScalarType dtype_argument(const std::string& name);

// The tokenizer of an opened model, checked against its vocabulary.
[[nodiscard]] text::Tokenizer tokenizer_of(const models::OpenedModel& opened);

[[nodiscard]] text::GgufTokenizerMetadata tokenizer_metadata(
    const checkpoint::GgufTokenizer& tokenizer);

}  // namespace titan::cli
