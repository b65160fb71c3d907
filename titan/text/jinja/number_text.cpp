#include "titan/text/jinja/number_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

// Without the white space around and the underscores between digits or letters; nothing
// where an underscore stands anywhere else.
std::optional<std::string> clean_number(std::string_view text) {
  text.remove_prefix(prefix_of(text, nullptr));
  text.remove_suffix(suffix_of(text, nullptr));
  std::string digits;
  const auto joins = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || !joins(i - 1) || !joins(i + 1)) {
      return std::nullopt;
    }
  }
  return digits;
}

// The base that the prefix names, which goes away.
int take_prefix(std::string_view& digits, int base) {
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 32);
    const int named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (named != 0 && (base == 0 || base == named)) {
      digits.remove_prefix(2);
      return named;
    }
  }
  return base == 0 ? 10 : base;
}

}  // namespace

std::string float_repr(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
  const auto shortest = [&](std::chars_format format) {
    char buffer[64];
    const auto end =
        std::to_chars(std::begin(buffer), std::end(buffer), value, format).ptr;
    return std::string(std::begin(buffer), end);
  };
  // The decimal exponent decides the form, as in Python's repr().
  const std::string scientific = shortest(std::chars_format::scientific);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (exponent < -4 || exponent >= 16) {
    return scientific;
  }
  const std::string fixed = shortest(std::chars_format::fixed);
  return fixed.find('.') == fixed.npos ? fixed + ".0" : fixed;
}

std::optional<double> parse_float(std::string_view text) {
  const std::optional<std::string> clean = clean_number(text);
  if (!clean || clean->empty()) {
    return std::nullopt;
  }
  std::string_view digits = *clean;
  if (digits[0] == '+') {
    digits.remove_prefix(1);
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = end == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range) {
    return std::strtod(std::string(digits).c_str(), nullptr);
  }
  // from_chars() also takes "nan(...)" and a second sign; Python does not.
  if (!whole || error != std::errc() || digits.ends_with(')') ||
      (clean->front() == '+' && digits.starts_with('-'))) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> parse_int(std::string_view text, int base) {
  const std::optional<std::string> clean = clean_number(text);
  if (!clean || clean->empty()) {
    return std::nullopt;
  }
  std::string_view digits = *clean;
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') {
    digits.remove_prefix(1);
  }
  base = take_prefix(digits, base);
  if (digits.empty() || digits[0] == '-') {
    return std::nullopt;
  }
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  int64_t value = 0;
  const char* const last = signed_digits.data() + signed_digits.size();
  const auto [end, error] = std::from_chars(signed_digits.data(), last, value, base);
  if (error != std::errc() || end != last) {
    return std::nullopt;
  }
  return value;
}

double round_to(double value, int digits) {
  if (!std::isfinite(value) || digits > 308) {
    return value;
  }
  if (digits >= 0) {
    return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
  }
  const double scale = std::pow(10.0, std::min(-digits, 309));
  return std::nearbyint(value / scale) * scale;
}

}  // namespace titan::text::jinja
