#pragma once
// The value types that a setting can have, each with its name in messages and its form as
// JSON. Infinite and NaN numbers are the strings "Infinity", "-Infinity" and "NaN".

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "titan/base/json.h"

namespace titan::config {

// Every from_json throws ConfigError "expected an integer, got \"x\"": the caller knows
// the path.
[[nodiscard]] bool bool_from_json(const Json& value);
// Takes integers and numbers without a fraction (1e4). REQUIRES: low <= 0 <= high.
[[nodiscard]] int64_t integer_from_json(const Json& value, int64_t low, int64_t high);
[[nodiscard]] uint64_t unsigned_from_json(const Json& value, uint64_t high);
[[nodiscard]] double number_from_json(const Json& value);
[[nodiscard]] Json number_to_json(double value);
[[nodiscard]] std::string string_from_json(const Json& value);
// The position in `names` of the string `value`.
[[nodiscard]] size_t choice_from_json(
    const Json& value, const std::vector<std::string>& names);
// `value`, which must be an array; `type` is the list's type name.
[[nodiscard]] const Json& list_from_json(const Json& value, const std::string& type);

// Throws ConfigError "expected a TYPE, got VALUE".
[[noreturn]] void fail_expected(const std::string& type, const Json& got);
// "list of numbers" for "number".
[[nodiscard]] std::string list_type(const std::string& element_type);
// "fp32|bf16" for the names of an enum.
[[nodiscard]] std::string choice_type(const std::vector<std::string>& names);

// An enum that can be set by name. Its header declares, beside the enum, a function that
// returns a range of (value, name) pairs:
//   constexpr auto enum_names(Dtype) {
//     return std::array{std::pair{Dtype::kFp32, std::string_view("fp32")}, ...};
//   }
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

template <NamedEnum E>
[[nodiscard]] std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [value, name] : enum_names(E{})) {
    names.emplace_back(name);
  }
  return names;
}

// The name of an enum's value. REQUIRES: enum_names lists it.
template <NamedEnum E>
[[nodiscard]] std::string enum_name(E wanted) {
  for (const auto& [value, name] : enum_names(E{})) {
    if (value == wanted) {
      return std::string(name);
    }
  }
  throw std::out_of_range("enum_names does not list this value");
}

// Leaf<T> = type() for messages and help, to_json and from_json.
template <class T>
struct Leaf;

template <>
struct Leaf<bool> {
  static std::string type() { return "true|false"; }

  static Json to_json(bool value) { return value; }

  static bool from_json(const Json& value) { return bool_from_json(value); }
};

template <std::integral T>
struct Leaf<T> {
  using Limits = std::numeric_limits<T>;

  static std::string type() { return "integer"; }

  static Json to_json(T value) { return value; }

  static T from_json(const Json& value) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(integer_from_json(value, Limits::min(), Limits::max()));
    } else {
      return static_cast<T>(unsigned_from_json(value, Limits::max()));
    }
  }
};

template <std::floating_point T>
struct Leaf<T> {
  static std::string type() { return "number"; }

  static Json to_json(T value) { return number_to_json(value); }

  static T from_json(const Json& value) {
    return static_cast<T>(number_from_json(value));
  }
};

template <>
struct Leaf<std::string> {
  static std::string type() { return "string"; }

  static Json to_json(const std::string& value) { return value; }

  static std::string from_json(const Json& value) { return string_from_json(value); }
};

template <NamedEnum E>
struct Leaf<E> {
  static std::string type() { return choice_type(names_of<E>()); }

  static Json to_json(E value) { return enum_name(value); }

  static E from_json(const Json& value) {
    const auto pairs = enum_names(E{});
    const size_t choice = choice_from_json(value, names_of<E>());
    return std::next(pairs.begin(), static_cast<std::ptrdiff_t>(choice))->first;
  }
};

template <class T>
struct Leaf<std::optional<T>> {
  static std::string type() { return Leaf<T>::type() + " or null"; }

  static Json to_json(const std::optional<T>& value) {
    return value ? Leaf<T>::to_json(*value) : Json(nullptr);
  }

  static std::optional<T> from_json(const Json& value) {
    if (value.is_null()) {
      return std::nullopt;
    }
    return Leaf<T>::from_json(value);
  }
};

template <class T>
struct Leaf<std::vector<T>> {
  static std::string type() { return list_type(Leaf<T>::type()); }

  static Json to_json(const std::vector<T>& value) {
    Json list = Json::array();
    for (const T& element : value) {
      list.push_back(Leaf<T>::to_json(element));
    }
    return list;
  }

  static std::vector<T> from_json(const Json& value) {
    std::vector<T> list;
    for (const Json& element : list_from_json(value, type())) {
      list.push_back(Leaf<T>::from_json(element));
    }
    return list;
  }
};

}  // namespace titan::config
