#pragma once
// Tokenizers from SentencePiece models, with the ids of SentencePiece itself.

#include <string>
#include <string_view>
#include <vector>

#include "titan/text/tokenizer_state.h"

namespace titan::text {

// BPE and Unigram models. Control tokens ("<s>") are looked for in the text, which
// SentencePiece leaves to its users; user-defined ones in the normalized text. BOS is put
// in front of a text. FormatError names what is not supported.
[[nodiscard]] TokenizerState read_sentencepiece(
    std::string_view bytes,
    const std::string& name,
    const std::vector<AddedToken>& added);

}  // namespace titan::text
