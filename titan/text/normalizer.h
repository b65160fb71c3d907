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

// From the "normalizer" of a tokenizer.json; normalizer.cpp has the known types.
[[nodiscard]] std::unique_ptr<Normalizer> make_normalizer(
    const Json& node, const std::string& where);

// Unicode's composed canonical form, NFC.
[[nodiscard]] std::unique_ptr<Normalizer> make_nfc_normalizer();

}  // namespace titan::text
