// The pre-tokenizer ByteLevel: GPT-2's pattern and byte alphabet.

#include <utility>

#include "titan/text/byte_alphabet.h"
#include "titan/text/pre_tokenizer_kinds.h"
#include "titan/text/regex.h"
#include "titan/text/split_behavior.h"

namespace titan::text {
namespace {

// GPT-2's split pattern (Radford et al. 2019, encoder.py): contractions, words, numbers
// and signs with one space before them, and white space.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, std::unique_ptr<Regex> regex)
      : add_prefix_space_(add_prefix_space), regex_(std::move(regex)) {}

  void split(Pieces& pieces) const override {
    if (add_prefix_space_) {
      add_spaces(pieces);
    }
    if (regex_) {
      split_each(
          pieces,
          SplitBehavior::kIsolated,
          false,
          [&](std::string_view text, auto& found) { regex_->find_all(text, found); });
    }
    if (spells_bytes_) {
      spell_bytes(pieces);
    }
  }

  bool stop_spelling_bytes() override {
    spells_bytes_ = false;
    return true;
  }

 private:
  static void add_spaces(Pieces& pieces) {
    Pieces spaced{.at_start = pieces.at_start};
    for (const Range& range : pieces.ranges) {
      const std::string_view piece = pieces.piece(range);
      const size_t begin = spaced.text.size();
      if (piece.front() != ' ') {
        spaced.text += ' ';
      }
      spaced.text += piece;
      spaced.ranges.push_back({begin, spaced.text.size()});
    }
    pieces = std::move(spaced);
  }

  static void spell_bytes(Pieces& pieces) {
    Pieces spelled{.at_start = pieces.at_start};
    spelled.text.reserve(pieces.text.size() * 5 / 4);
    spelled.ranges.reserve(pieces.ranges.size());
    for (const Range& range : pieces.ranges) {
      const size_t begin = spelled.text.size();
      for (const char c : pieces.piece(range)) {
        spelled.text += byte_symbol(static_cast<uint8_t>(c));
      }
      spelled.ranges.push_back({begin, spelled.text.size()});
    }
    pieces = std::move(spelled);
  }

  bool add_prefix_space_;
  std::unique_ptr<Regex> regex_;
  bool spells_bytes_ = true;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level_pre_tokenizer(
    const Json& node, const std::string& where) {
  const bool use_regex = json_get<bool>(node, "use_regex", where, true);
  return std::make_unique<ByteLevel>(
      json_get<bool>(node, "add_prefix_space", where, true),
      use_regex ? make_regex(kGpt2Pattern, where) : nullptr);
}

}  // namespace titan::text
