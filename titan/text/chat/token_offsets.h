#pragma once
// Which bytes of a text each of its tokens stands for.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "titan/text/tokenizer.h"

namespace titan::text::chat {

// The end of each token in `text`, of which `ids` is the encoding; a token begins where
// the one before ends. Exact where tokens spell the text, as byte-level ones do. Where a
// tokenizer adds a space the token ends at the text's own; where it normalizes characters
// away, the tokens up to the next one that matches share the bytes in between, the first
// of them taking all.
[[nodiscard]] std::vector<size_t> token_ends(
    const Tokenizer& tokenizer, std::string_view text, std::span<const int32_t> ids);

}  // namespace titan::text::chat
