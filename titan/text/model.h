#pragma once
// The heart of a tokenizer: turns one piece of text into token ids.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

// Hash of text keys that also takes string_view, so that lookups copy nothing.
struct TextHash {
  using is_transparent = void;

  size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

using Vocabulary = std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>>;

// Immutable but for caches; thread-safe.
class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of `piece`.
  virtual void encode(std::string_view piece, std::vector<int32_t>& ids) const = 0;
  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;
};

// From the "model" of a tokenizer.json: BPE. `control_ids` never come out of text.
[[nodiscard]] std::unique_ptr<Model> make_model(
    const Json& node,
    const std::string& where,
    const std::unordered_set<int32_t>& control_ids);

}  // namespace titan::text
