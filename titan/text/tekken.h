#pragma once
// Mistral's tekken.json: byte-level tokens with ranks, a split pattern, and special
// tokens that take the first ids.

#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/tokenizer_state.h"

namespace titan::text {

// True where a JSON file has the shape of a tekken.json rather than a tokenizer.json.
[[nodiscard]] bool looks_like_tekken(const Json& json);

// FormatError names the field.
[[nodiscard]] TokenizerState read_tekken(
    const Json& json, const std::string& name, const std::vector<AddedToken>& added);

}  // namespace titan::text
