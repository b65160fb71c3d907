#include "titan/text/word_level.h"

#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/vocabulary_json.h"

namespace titan::text {
namespace {

class WordLevel : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::optional<int32_t> unk_id)
      : vocabulary_(std::move(vocabulary)), unk_id_(unk_id) {}

  void encode(
      std::string_view text,
      std::span<const Range> pieces,
      std::vector<int32_t>& ids) const override {
    for (const Range& range : pieces) {
      const std::string_view piece = text.substr(range.begin, range.size());
      const auto found = vocabulary_.find(piece);
      if (found == vocabulary_.end() && !unk_id_) {
        fail<InputError>(
            "\"{}\" is not a token, and the tokenizer has no unknown token", piece);
      }
      ids.push_back(found == vocabulary_.end() ? *unk_id_ : found->second);
    }
  }

  [[nodiscard]] const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::optional<int32_t> unk_id_;
};

}  // namespace

std::unique_ptr<Model> make_word_level(
    const Json& node, const std::string& where, const ModelContext&) {
  Vocabulary vocabulary = read_vocabulary(node, where);
  const std::optional<int32_t> unk_id = read_unk_id(node, vocabulary, where);
  return std::make_unique<WordLevel>(std::move(vocabulary), unk_id);
}

}  // namespace titan::text
