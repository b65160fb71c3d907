#pragma once
// Numbers as Python prints and reads them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::text::jinja {

// repr(): "1.0", "1e-05", "1e+16", "inf", "nan".
[[nodiscard]] std::string float_repr(double value);

// float(): white space around, underscores between digits, "inf", "nan".
[[nodiscard]] std::optional<double> parse_float(std::string_view text);

// int(): the same, with a sign, in a base of 2 .. 36 or, where it is 0, that of the
// prefix. Nothing where the text is no int or does not fit into 64 bits.
[[nodiscard]] std::optional<int64_t> parse_int(std::string_view text, int base);

// round(value, digits): to the nearest decimal of the exact value, ties to even.
[[nodiscard]] double round_to(double value, int digits);

}  // namespace titan::text::jinja
