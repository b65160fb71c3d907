#pragma once
// Strings as Python sees them: sequences of characters with classes and cases.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "titan/text/jinja/value.h"

namespace titan::text::jinja {

// All of these: REQUIRES well-formed UTF-8.

[[nodiscard]] bool is_ascii(std::string_view text);

[[nodiscard]] size_t count_characters(std::string_view text);

// The offset of character `index`; the size where there are not as many.
[[nodiscard]] size_t character_offset(std::string_view text, size_t index);

// Each character as a string.
[[nodiscard]] std::span<const Value> split_characters(const String& string, Arena& arena);

// What str.isspace() is true for.
[[nodiscard]] bool is_python_space(char32_t point);

// What repr() shows as it is.
[[nodiscard]] bool is_printable(char32_t point);

// The character at `offset` and its size. REQUIRES: offset < text.size().
struct Character {
  char32_t point;
  size_t size;
};

[[nodiscard]] Character character_at(std::string_view text, size_t offset);

// The bytes of the characters of `set` (white space where it is null) that `text` starts
// or ends with.
[[nodiscard]] size_t prefix_of(std::string_view text, const std::string_view* set);
[[nodiscard]] size_t suffix_of(std::string_view text, const std::string_view* set);

enum class Case { kLower, kUpper, kTitle, kCapitalize };

// str.lower(), upper(), title() and capitalize().
[[nodiscard]] std::string change_case(std::string_view text, Case target);

enum class CharacterClass { kLower, kUpper, kAlpha, kDigit, kAlnum, kSpace };

// str.islower(), isupper(), isalpha(), isdigit(), isalnum(), isspace().
[[nodiscard]] bool is_class(std::string_view text, CharacterClass wanted);

// Appends a code point in UTF-8.
void append_utf8(std::string& text, char32_t point);

}  // namespace titan::text::jinja
