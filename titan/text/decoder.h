#pragma once
// From a token's spelling in the vocabulary to the bytes that it stands for.

#include <memory>
#include <string>

#include "titan/base/json.h"

namespace titan::text {

// Immutable and thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual std::string decode(std::string token) const = 0;
};

// From the "decoder" of a tokenizer.json: ByteLevel or a Sequence of such.
[[nodiscard]] std::unique_ptr<Decoder> make_decoder(
    const Json& node, const std::string& where);

}  // namespace titan::text
