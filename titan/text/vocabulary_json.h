#pragma once
// The "vocab" of a tokenizer.json where it is an object of tokens and ids.

#include <optional>
#include <string>

#include "titan/text/model.h"

namespace titan::text {

// FormatError names the token: an id out of range or used twice.
[[nodiscard]] Vocabulary read_vocabulary(const Json& node, const std::string& where);

// The id of "unk_token"; nullopt where the file names none. FormatError: not a token.
[[nodiscard]] std::optional<int32_t> read_unk_id(
    const Json& node, const Vocabulary& vocabulary, const std::string& where);

}  // namespace titan::text
