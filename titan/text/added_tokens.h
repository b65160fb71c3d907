#pragma once
// Tokens that are cut out of the text before anything else sees it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalized text, in normalized form
};

// One entry of "added_tokens". FormatError names the field.
[[nodiscard]] AddedToken read_added_token(
    const Json& node, int64_t id, const std::string& where);

// A stretch of text: an added token, or what lies between.
struct Stretch {
  std::optional<int32_t> token;
  std::string_view text;
};

// Finds added tokens, at each place the longest one. Immutable and thread-safe. Its time
// grows with the text, not with the number of tokens.
class AddedTokenMatcher {
 public:
  AddedTokenMatcher();

  // Looks for `spelling` from now on; an empty one is never found.
  void add(const AddedToken& token, std::string_view spelling);

  // Cuts `text` without a rest; none of the stretches is empty.
  [[nodiscard]] std::vector<Stretch> cut(std::string_view text) const;

 private:
  static constexpr int32_t kNone = -1;

  struct Match {
    const AddedToken* token;
    size_t size;
  };

  [[nodiscard]] Match longest_at(std::string_view text) const;

  // A trie: edges by (node, byte); the root's edges, tried at every byte, as a table.
  std::array<int32_t, 256> root_;
  std::unordered_map<uint64_t, int32_t> edges_;
  std::vector<int32_t> token_of_node_;  // index into tokens_, kNone within a spelling
  std::vector<AddedToken> tokens_;
};

}  // namespace titan::text
