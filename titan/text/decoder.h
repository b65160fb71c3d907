#pragma once
// From tokens, as the vocabulary spells them, to the text that they stand for.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

// Immutable and thread-safe. Every token stands for bytes of its own; all that looks at
// the whole text is a strip at its ends.
class Decoder {
 public:
  // Rewrites one token; `first`: it begins the text.
  class Step {
   public:
    virtual ~Step() = default;
    [[nodiscard]] virtual std::string decode(std::string token, bool first) const = 0;
  };

  // Up to `start` times `character` at the beginning of the text and `stop` times at its
  // end.
  struct Strip {
    std::string character;
    size_t start;
    size_t stop;
  };

  Decoder(std::vector<std::unique_ptr<Step>> steps, std::optional<Strip> strip);

  [[nodiscard]] std::string decode(std::string token, bool first) const;

  [[nodiscard]] const std::optional<Strip>& strip() const { return strip_; }

 private:
  std::vector<std::unique_ptr<Step>> steps_;
  std::optional<Strip> strip_;
};

// From the "decoder" of a tokenizer.json; decoder.cpp has the known types. FormatError:
// any other, or a part behind Fuse or ByteLevel that would look at the whole text.
[[nodiscard]] Decoder make_decoder(const Json& node, const std::string& where);

}  // namespace titan::text
