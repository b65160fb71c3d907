#pragma once
// A vocabulary of whole words: each piece is a token, or the unknown token.

#include "titan/text/model.h"

namespace titan::text {

// From tokenizer.json. FormatError names the field. A piece that is no token gives
// unk_token; without one, encoding it is an InputError.
[[nodiscard]] std::unique_ptr<Model> make_word_level(
    const Json& node, const std::string& where, const ModelContext& context);

}  // namespace titan::text
