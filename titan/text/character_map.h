#pragma once
// SentencePiece's precompiled_charsmap: texts and what they are replaced by.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::text {

// The blob is the size of a trie in bytes (uint32, little endian), the trie as units of a
// double array (Yata's darts-clone), and the replacements, each ended by a zero byte.
// Immutable and thread-safe; safe with any blob.
class CharacterMap {
 public:
  struct Match {
    size_t size;                   // bytes of text
    std::string_view replacement;  // lives as long as the map
  };

  // FormatError names `where`.
  CharacterMap(std::string_view blob, const std::string& where);

  // The longest and the shortest entry that `text` starts with.
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const;
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const;

 private:
  [[nodiscard]] std::optional<Match> find(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace titan::text
