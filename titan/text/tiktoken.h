#pragma once
// tiktoken rank files: a line a token, its bytes in base64 and its rank. The file says
// neither how text is cut nor which special tokens there are; titan knows the families
// Llama 3, Llama 4, Qwen, Qwen 3.5 and Kimi K2 by their number of ranks.

#include <string>
#include <string_view>
#include <vector>

#include "titan/text/tokenizer_state.h"

namespace titan::text {

// True where `text` begins with a line of such a file.
[[nodiscard]] bool looks_like_tiktoken(std::string_view text);

// `added` are the special tokens that a tokenizer_config.json names; they take the place
// of the family's own with the same ids. FormatError: names line and reason, or the
// number of ranks where no family has it.
[[nodiscard]] TokenizerState read_tiktoken(
    std::string_view text, const std::string& name, const std::vector<AddedToken>& added);

}  // namespace titan::text
