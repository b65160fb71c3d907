#pragma once
// UTF-8 by the rules of the Unicode standard, section 3.9.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace titan::text {

enum class Utf8Kind {
  kWhole,      // one well-formed character
  kIllFormed,  // a maximal run that no character starts with
  kCutOff      // the start of a character, cut by the end of the text
};

struct Utf8Step {
  Utf8Kind kind;
  size_t size;  // bytes it covers, > 0
};

// What `text` starts with. REQUIRES: !text.empty().
[[nodiscard]] Utf8Step next_utf8(std::string_view text);

// Bytes of the well-formed character that starts with `lead`.
[[nodiscard]] inline size_t utf8_size(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The code point of a well-formed character. REQUIRES: next_utf8 gave kWhole and `size`.
[[nodiscard]] inline char32_t code_point(std::string_view text, size_t size) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  char32_t value = size == 1 ? byte(0) : byte(0) & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    value = value << 6 | (byte(i) & 0x3FU);
  }
  return value;
}

// Where the last character of `text` starts. REQUIRES: well-formed, not empty.
[[nodiscard]] size_t last_utf8(std::string_view text);

// Appends the character `point`. REQUIRES: a Unicode scalar value.
void append_utf8(std::string& out, char32_t point);

// Offset of the first byte that is not UTF-8.
[[nodiscard]] std::optional<size_t> find_invalid_utf8(std::string_view text);

// Appends `text` to `out` with U+FFFD for each ill-formed run. A character cut off by the
// end stays out; the result is the number of bytes that were taken.
size_t append_utf8_lossy(std::string& out, std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace titan::text
