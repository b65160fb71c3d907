#pragma once
// The factories behind make_pre_tokenizer. `where` names file and field in FormatErrors.

#include <memory>
#include <string>

#include "titan/text/pre_tokenizer.h"

namespace titan::text {

// byte_level.cpp
[[nodiscard]] std::unique_ptr<PreTokenizer> make_byte_level_pre_tokenizer(
    const Json& node, const std::string& where);

// metaspace.cpp
[[nodiscard]] std::unique_ptr<PreTokenizer> make_metaspace_pre_tokenizer(
    const Json& node, const std::string& where);

// splits.cpp
[[nodiscard]] std::unique_ptr<PreTokenizer> make_digits(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_punctuation(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_split(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_whitespace(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<PreTokenizer> make_whitespace_split(
    const Json& node, const std::string& where);

}  // namespace titan::text
