#include "titan/config/leaf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "titan/base/error.h"

namespace titan::config {
namespace {

std::string with_article(const std::string& type) {
  if (type.starts_with("integer")) {
    return "an " + type;
  }
  const bool noun = type.starts_with("number") || type.starts_with("string") ||
                    type.starts_with("list");
  return noun ? "a " + type : type;
}

// 1e4 and 20.0 count as integers where a double holds every integer exactly.
Json without_fraction(const Json& value) {
  constexpr double kExact = 0x1p53;
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::trunc(number) && std::abs(number) <= kExact) {
      return static_cast<int64_t>(number);
    }
  }
  return value;
}

}  // namespace

void fail_expected(const std::string& type, const Json& got) {
  constexpr size_t kShown = 60;
  std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) {
    text.resize(kShown);
    text += "...";
  }
  fail<ConfigError>("expected {}, got {}", with_article(type), text);
}

std::string list_type(const std::string& element_type) {
  const bool noun = element_type.find('|') == std::string::npos;
  return "list of " + element_type + (noun ? "s" : "");
}

std::string choice_type(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "|"));
}

bool bool_from_json(const Json& value) {
  if (!value.is_boolean()) {
    fail_expected("true|false", value);
  }
  return value.get<bool>();
}

int64_t integer_from_json(const Json& given, int64_t low, int64_t high) {
  const Json value = without_fraction(given);
  if (!value.is_number_integer()) {
    fail_expected("integer", given);
  }
  const bool inside = value.is_number_unsigned()
                          ? std::cmp_less_equal(value.get<uint64_t>(), high)
                          : value.get<int64_t>() >= low && value.get<int64_t>() <= high;
  if (!inside) {
    fail_expected(fmt::format("integer from {} to {}", low, high), given);
  }
  return value.get<int64_t>();
}

uint64_t unsigned_from_json(const Json& given, uint64_t high) {
  const Json value = without_fraction(given);
  if (!value.is_number_integer()) {
    fail_expected("integer", given);
  }
  const bool negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
  if (negative || value.get<uint64_t>() > high) {
    fail_expected(fmt::format("integer from 0 to {}", high), given);
  }
  return value.get<uint64_t>();
}

double number_from_json(const Json& value) {
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value == "Infinity") {
    return std::numeric_limits<double>::infinity();
  }
  if (value == "-Infinity") {
    return -std::numeric_limits<double>::infinity();
  }
  if (value == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  fail_expected("number", value);
}

Json number_to_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(exact_number(value));
}

std::string string_from_json(const Json& value) {
  if (!value.is_string()) {
    fail_expected("string", value);
  }
  try {
    (void)value.dump();
  } catch (const Json::type_error&) {
    fail_expected("string in UTF-8", value);
  }
  return value.get<std::string>();
}

size_t choice_from_json(const Json& value, const std::vector<std::string>& names) {
  const auto found = value.is_string()
                         ? std::find(names.begin(), names.end(), value.get<std::string>())
                         : names.end();
  if (found == names.end()) {
    fail_expected(choice_type(names), value);
  }
  return static_cast<size_t>(found - names.begin());
}

const Json& list_from_json(const Json& value, const std::string& type) {
  if (!value.is_array()) {
    fail_expected(type, value);
  }
  return value;
}

}  // namespace titan::config
