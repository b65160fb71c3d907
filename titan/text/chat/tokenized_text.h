#pragma once
// A rendered conversation as tokens that know where they come from.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "titan/text/chat/renderer.h"
#include "titan/text/jinja/marked_text.h"
#include "titan/text/tokenizer.h"

namespace titan::text::chat {

struct TokenizedText {
  std::string text;
  std::vector<jinja::Run> runs;
  std::vector<int32_t> ids;
  std::vector<size_t> ends;  // of the tokens' bytes

  [[nodiscard]] size_t begin(size_t token) const {
    return token == 0 ? 0 : ends[token - 1];
  }

  // The tokens that have a byte of the text's [begin, end).
  [[nodiscard]] TokenRange tokens_of(size_t begin, size_t end) const;

  // For each token the source of the first of its bytes that is not the template's, else
  // the template's.
  [[nodiscard]] std::vector<uint32_t> sources() const;
};

// Encodes what a template printed. Added tokens are found in what the template itself
// wrote, or everywhere where `parse_special`.
[[nodiscard]] TokenizedText tokenize_output(
    const Tokenizer& tokenizer, jinja::Output output, bool parse_special);

// Where an assistant message lies in a conversation's tokens, or why that cannot be told.
struct Turn {
  TokenRange tokens;
  std::string refusal;  // empty: found
};

// `whole`: the conversation with message `index` and all after it. `prompt`: the messages
// before it with a generation prompt. `until`: the messages up to and with it.
// The turn begins where the prompt ends, or where the two part within the generation
// prompt. It ends with the first of `turn_ends` after the message's text in `until`, if
// `whole` is the same up to there, else in `whole`. Where nothing follows, a turn without
// one ends with the text.
[[nodiscard]] Turn find_turn(
    const TokenizedText& whole,
    size_t index,
    const jinja::Output& prompt,
    const jinja::Output& until,
    std::span<const int32_t> turn_ends);

// The ranges of the {% generation %} blocks, in order; where `last_message` is given,
// from the first one that has text of that message, or else only the last one.
[[nodiscard]] std::vector<TokenRange> generation_spans(
    const TokenizedText& whole, std::optional<size_t> last_message);

}  // namespace titan::text::chat
