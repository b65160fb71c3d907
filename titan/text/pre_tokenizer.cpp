#include "titan/text/pre_tokenizer.h"

#include <utility>

#include "titan/text/component.h"
#include "titan/text/pre_tokenizer_kinds.h"

namespace titan::text {
namespace {

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  void split(Pieces& pieces) const override {
    for (const auto& part : parts_) {
      part->split(pieces);
    }
  }

  bool stop_spelling_bytes() override {
    return !parts_.empty() && parts_.back()->stop_spelling_bytes();
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> make_pre_tokenizer_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<PreTokenizer>(node, "pretokenizers", where, make_pre_tokenizer));
}

constexpr Component<PreTokenizer> kPreTokenizers[] = {
    {"ByteLevel", make_byte_level_pre_tokenizer},
    {"Digits", make_digits},
    {"Metaspace", make_metaspace_pre_tokenizer},
    {"Punctuation", make_punctuation},
    {"Sequence", make_pre_tokenizer_sequence},
    {"Split", make_split},
    {"Whitespace", make_whitespace},
    {"WhitespaceSplit", make_whitespace_split}};

}  // namespace

Pieces Pieces::whole(std::string text, bool at_start) {
  Pieces pieces{std::move(text), {}, at_start};
  if (!pieces.text.empty()) {
    pieces.ranges.push_back({0, pieces.text.size()});
  }
  return pieces;
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer(
    const Json& node, const std::string& where) {
  return make_component<PreTokenizer>(node, where, kPreTokenizers);
}

}  // namespace titan::text
