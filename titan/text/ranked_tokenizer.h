#pragma once
// Byte-level BPE whose merges follow from the ranks of its tokens: tiktoken and tekken.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "titan/text/tokenizer_state.h"

namespace titan::text {

struct RankedBytes {
  std::string bytes;
  int32_t rank;
};

// `tokens` get the ids `first_id` + rank; `pattern` cuts the text. FormatError: a rank or
// a token occurs twice, a single byte is missing.
[[nodiscard]] TokenizerState make_ranked_tokenizer(
    const std::string& name,
    const std::vector<RankedBytes>& tokens,
    int32_t first_id,
    const std::string& pattern,
    const std::vector<AddedToken>& added);

// A special token that is looked for in the text as given.
[[nodiscard]] AddedToken special_token(int32_t id, std::string content);

}  // namespace titan::text
