#pragma once
// Cuts text into the pieces that the model encodes one by one.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

// A half-open range of bytes.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// Text with the pieces it is cut into: none is empty, they do not overlap and are in
// order; text outside them is dropped.
struct Pieces {
  std::string text;
  std::vector<Range> ranges;

  [[nodiscard]] std::string_view piece(const Range& range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
};

// Immutable and thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts each piece further, and may rewrite the text.
  virtual void split(Pieces& pieces) const = 0;
};

// From the "pre_tokenizer" of a tokenizer.json: ByteLevel, Digits, Split or a Sequence.
[[nodiscard]] std::unique_ptr<PreTokenizer> make_pre_tokenizer(
    const Json& node, const std::string& where);

}  // namespace titan::text
