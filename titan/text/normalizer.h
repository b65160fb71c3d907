#pragma once
// The first part of a tokenizer: rewrites text before it is split.

#include <memory>
#include <string>

#include "titan/base/json.h"

namespace titan::text {

// Immutable and thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // REQUIRES: `text` is UTF-8.
  [[nodiscard]] virtual std::string normalize(std::string text) const = 0;
};

// From the "normalizer" of a tokenizer.json: NFC or a Sequence of such.
[[nodiscard]] std::unique_ptr<Normalizer> make_normalizer(
    const Json& node, const std::string& where);

}  // namespace titan::text
