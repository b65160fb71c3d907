#pragma once
// What is put around the ids of a text: BOS, EOS and the like.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

// Immutable and thread-safe.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  [[nodiscard]] virtual std::vector<int32_t> process(std::vector<int32_t> ids) const = 0;
};

// From the "post_processor" of a tokenizer.json: ByteLevel (which changes no id),
// TemplateProcessing (its template for a single text), BertProcessing, RobertaProcessing
// or a Sequence.
[[nodiscard]] std::unique_ptr<PostProcessor> make_post_processor(
    const Json& node, const std::string& where);

// Puts `before` in front of a text and `behind` behind it.
[[nodiscard]] std::unique_ptr<PostProcessor> make_surrounding_post_processor(
    std::vector<int32_t> before, std::vector<int32_t> behind);

}  // namespace titan::text
