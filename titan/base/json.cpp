#include "titan/base/json.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan {
namespace {

// nlohmann's callback parser sees each key; one set of names a nesting level finds
// repeats.
class DuplicateCheck {
 public:
  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        names_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        names_.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!names_.back().insert(parsed.get<std::string>()).second) {
          fail<FormatError>("member \"{}\" occurs twice", parsed.get<std::string>());
        }
        break;
      default:
        break;
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> names_;
};

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_integral_v<T>) {
    return "an integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "a number";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "a string";
  } else {
    return "a list";
  }
}

template <class T>
bool holds(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::is_integral_v<T>) {
    return value.is_number_integer();
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.is_number();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.is_string();
  } else {
    if (!value.is_array()) {
      return false;
    }
    for (const Json& element : value) {
      if (!holds<typename T::value_type>(element)) {
        return false;
      }
    }
    return true;
  }
}

template <class T>
T convert(const Json& value, std::string_view key, std::string_view what) {
  if (!holds<T>(value)) {
    fail<FormatError>(
        "{}: {}: expected {}, got {}",
        what,
        key,
        type_name<T>(),
        value.dump().substr(0, 60));
  }
  return value.get<T>();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what) {
  try {
    return Json::parse(text, DuplicateCheck());
  } catch (const Json::parse_error& error) {
    const size_t end = std::min<size_t>(error.byte, text.size());
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i + 1 < end; ++i) {
      ++column;
      if (text[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    const std::string message = error.what();
    const size_t colon = message.rfind(": ");
    fail<FormatError>(
        "{}:{}:{}: not valid JSON: {}",
        what,
        line,
        column,
        colon == std::string::npos ? message : message.substr(colon + 2));
  } catch (const Json::exception& error) {  // a number beyond the range of double
    fail<FormatError>("{}: not valid JSON: {}", what, error.what());
  } catch (const FormatError& error) {
    fail<FormatError>("{}: not valid JSON: {}", what, error.what());
  }
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

template <class T>
T json_get(const Json& object, std::string_view key, std::string_view what) {
  const auto found = object.find(std::string(key));
  if (found == object.end()) {
    fail<FormatError>("{}: {}: missing, expected {}", what, key, type_name<T>());
  }
  return convert<T>(*found, key, what);
}

template <class T>
T json_get(const Json& object, std::string_view key, std::string_view what, T fallback) {
  const auto found = object.find(std::string(key));
  if (found == object.end() || found->is_null()) {
    return fallback;
  }
  return convert<T>(*found, key, what);
}

#define TITAN_JSON_GET(T)                                                  \
  template T json_get<T>(const Json&, std::string_view, std::string_view); \
  template T json_get<T>(const Json&, std::string_view, std::string_view, T);
TITAN_JSON_GET(bool)
TITAN_JSON_GET(int64_t)
TITAN_JSON_GET(double)
TITAN_JSON_GET(std::string)
TITAN_JSON_GET(std::vector<int64_t>)
TITAN_JSON_GET(std::vector<double>)
TITAN_JSON_GET(std::vector<std::string>)
#undef TITAN_JSON_GET

std::string exact_number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  return Json(value).dump();
}

}  // namespace titan
