#pragma once
// The part of a tokenizer that knows the vocabulary.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/range.h"

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
  // Appends the ids of the pieces of `text`, one after another.
  virtual void encode(
      std::string_view text,
      std::span<const Range> pieces,
      std::vector<int32_t>& ids) const = 0;
  // By spelling in the file.
  [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;
};

// What surrounds the "model" of a tokenizer.json.
struct ModelContext {
  // Ids that never come out of text as whole pieces.
  std::unordered_set<int32_t> control_ids;
  // Pieces are bytes, not yet spelled in the byte alphabet that the vocabulary uses.
  bool byte_pieces = false;
};

// Whether the "model" can take byte pieces.
[[nodiscard]] bool takes_byte_pieces(const Json& node, const std::string& where);

// From the "model" of a tokenizer.json: BPE, Unigram or WordLevel.
[[nodiscard]] std::unique_ptr<Model> make_model(
    const Json& node, const std::string& where, const ModelContext& context);

}  // namespace titan::text
