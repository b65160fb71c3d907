#pragma once

#include <cstddef>
#include <string_view>

// Character classes as the tokenizer.json components define them (Unicode, by ICU).

namespace titan::text {

// Categories Nd, Nl and No.
[[nodiscard]] bool is_numeric(char32_t point);

// Categories P*, and the signs of ASCII ("$+<=>^`|~") that Unicode calls symbols.
[[nodiscard]] bool is_punctuation(char32_t point);

// Category Mn.
[[nodiscard]] bool is_nonspacing_mark(char32_t point);

// The White_Space property.
[[nodiscard]] bool is_space(char32_t point);

// What \w matches in Unicode regular expressions (UTS 18, annex C): Alphabetic, marks,
// Nd, Pc, Join_Control.
[[nodiscard]] bool is_word(char32_t point);

// Bytes of the white space that `text` begins or ends with. REQUIRES: UTF-8.
[[nodiscard]] size_t space_at_start(std::string_view text);
[[nodiscard]] size_t space_at_end(std::string_view text);

}  // namespace titan::text
