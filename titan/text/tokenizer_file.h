#pragma once
// Reading a tokenizer file of any known format.

#include <filesystem>
#include <vector>

#include "titan/text/tokenizer_state.h"

namespace titan::text {

// tokenizer.json, tekken.json, a tiktoken rank file or a SentencePiece model, told apart
// by their content. `added` come from a tokenizer_config.json. InputError: cannot be
// read; FormatError: none of these, or names what is wrong in it.
[[nodiscard]] TokenizerState read_tokenizer_file(
    const std::filesystem::path& path, const std::vector<AddedToken>& added);

// The tokenizer file of a model folder: tokenizer.json, else tekken.json,
// tokenizer.model, tiktoken.model, or the only *.tiktoken. InputError: there is none.
[[nodiscard]] std::filesystem::path find_tokenizer_file(
    const std::filesystem::path& folder);

}  // namespace titan::text
