#pragma once
// Cuts text into the pieces that the model encodes one by one.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/range.h"

namespace titan::text {

// Text with the pieces it is cut into: none is empty, they do not overlap and are in
// order; text outside them is dropped.
struct Pieces {
  std::string text;
  std::vector<Range> ranges;
  // The text begins where the whole input does, not behind an added token.
  bool at_start = true;

  // `text` as one piece, or none where it is empty.
  [[nodiscard]] static Pieces whole(std::string text, bool at_start = true);

  [[nodiscard]] std::string_view piece(const Range& range) const {
    return std::string_view(text).substr(range.begin, range.size());
  }
};

// Immutable once in use, then thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts each piece further, and may rewrite the text.
  virtual void split(Pieces& pieces) const = 0;

  // True where the last thing that it does is to spell bytes in the byte alphabet. From
  // then on it leaves that out, for a model that takes bytes.
  [[nodiscard]] virtual bool stop_spelling_bytes() { return false; }
};

// From the "pre_tokenizer" of a tokenizer.json; pre_tokenizer.cpp has the known types.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_pre_tokenizer(
    const Json& node, const std::string& where);

// Cuts at the matches of a pattern, each of which is a piece: all that tiktoken does.
// FormatError: not a valid pattern.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_pattern_pre_tokenizer(
    const std::string& pattern, const std::string& where);

}  // namespace titan::text
