#pragma once
// Tokens that are cut out of the text before anything else sees it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/text/range.h"

namespace titan::text {

struct AddedToken {
  int32_t id = 0;
  std::string content = "";
  bool special = false;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalized text
  // What is looked for there; unset: what the normalizer makes of `content`.
  std::optional<std::string> spelling = std::nullopt;
};

// One entry of "added_tokens". FormatError names the field.
[[nodiscard]] AddedToken read_added_token(
    const Json& node, int64_t id, const std::string& where);

// A stretch of text: an added token, or what lies between.
struct Stretch {
  std::optional<int32_t> token;
  std::string_view text;
};

// Finds added tokens: the leftmost, of those the longest. Immutable and thread-safe. One
// table look-up a byte (Aho, Corasick 1975), however many tokens there are.
class AddedTokenMatcher {
 public:
  // An added token, and the text that is looked for; an empty one is never found.
  struct Entry {
    AddedToken token;
    std::string spelling;
  };

  AddedTokenMatcher() : AddedTokenMatcher(std::vector<Entry>()) {}

  explicit AddedTokenMatcher(std::vector<Entry> entries);

  // Cuts `text` without a rest; none of the stretches is empty.
  [[nodiscard]] std::vector<Stretch> cut(std::string_view text) const;

  // The same, but a token's spelling must lie within one of the ranges `marked`; what
  // lstrip and rstrip take along may lie outside. REQUIRES: in order, disjoint, in
  // `text`.
  [[nodiscard]] std::vector<Stretch> cut(
      std::string_view text, std::span<const Range> marked) const;

 private:
  static constexpr int32_t kNone = -1;

  struct Match {
    const AddedToken* token;
    Range range;
  };

  void enter(int32_t entry);
  void link();
  [[nodiscard]] int32_t& next(int32_t node, size_t byte_class);
  // In text[from, end).
  [[nodiscard]] std::optional<Match> find(
      std::string_view text, size_t from, size_t end) const;

  std::vector<Entry> entries_;
  std::array<uint8_t, 256> byte_class_{};  // 0: in no spelling
  std::array<bool, 256> starts_{};         // a spelling starts with the byte
  size_t num_classes_ = 1;
  // By node; node 0 is the root.
  std::vector<int32_t> next_;  // [node][byte class]
  std::vector<uint32_t> depth_;
  std::vector<int32_t> entry_;  // the longest that ends here, kNone: no one does
};

}  // namespace titan::text
