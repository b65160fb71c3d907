#pragma once

// Character classes as the tokenizer.json components define them (Unicode, by ICU).

namespace titan::text {

// Categories Nd, Nl and No.
[[nodiscard]] bool is_numeric(char32_t point);

// The White_Space property.
[[nodiscard]] bool is_space(char32_t point);

// What \w matches in Unicode regular expressions (UTS 18, annex C): Alphabetic, marks,
// Nd, Pc, Join_Control.
[[nodiscard]] bool is_word(char32_t point);

}  // namespace titan::text
