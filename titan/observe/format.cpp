#include "titan/observe/format.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace titan::observe {
namespace {

// `value` in the largest unit that leaves at least 1; one decimal below 100.
std::string scaled(double value, std::span<const std::string_view> units) {
  size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  const bool decimal = unit > 0 && std::abs(value) < 99.95;
  return fmt::format("{:.{}f}{}", value, decimal ? 1 : 0, units[unit]);
}

}  // namespace

std::string format_count(double value) {
  static constexpr std::array<std::string_view, 5> kUnits = {"", "k", "M", "B", "T"};
  return scaled(value, kUnits);
}

std::string format_bytes(int64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {
      " B", " kB", " MB", " GB", " TB"};
  return scaled(static_cast<double>(bytes), kUnits);
}

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e9;  // 31 years: no estimate worth printing
  if (!(seconds >= 0) || seconds > kLongest) {
    return "-";
  }
  const int64_t total = std::llround(seconds);
  if (total < 60) {
    return fmt::format("{}s", total);
  }
  if (total < 3600) {
    return fmt::format("{}m{:02}s", total / 60, total % 60);
  }
  const int64_t minutes = std::llround(seconds / 60);
  if (minutes < 24 * 60) {
    return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
  }
  const int64_t hours = std::llround(seconds / 3600);
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

}  // namespace titan::observe
