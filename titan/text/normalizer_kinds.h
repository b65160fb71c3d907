#pragma once
// The factories behind make_normalizer. `where` names file and field in FormatErrors.

#include <memory>
#include <string>

#include "titan/text/normalizer.h"

namespace titan::text {

// unicode_normalizers.cpp: by Unicode's tables.
[[nodiscard]] std::unique_ptr<Normalizer> make_nfc(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_nfd(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_nfkc(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_nfkd(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_lowercase(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_strip_accents(
    const Json& node, const std::string& where);

// text_normalizers.cpp: fixed texts and patterns.
[[nodiscard]] std::unique_ptr<Normalizer> make_prepend(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_replace(
    const Json& node, const std::string& where);
[[nodiscard]] std::unique_ptr<Normalizer> make_strip_normalizer(
    const Json& node, const std::string& where);

// precompiled.cpp: SentencePiece's character map.
[[nodiscard]] std::unique_ptr<Normalizer> make_precompiled(
    const Json& node, const std::string& where);

}  // namespace titan::text
