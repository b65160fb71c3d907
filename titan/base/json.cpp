#include "titan/base/json.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan {
namespace {

// Builds the value from the parser's events. Members are appended without a search, since
// a Json object finds a member by a walk from the first one, which a vocabulary of
// 100,000 tokens turns into minutes; a set of names for each open object finds repeats.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  bool null() override { return add(nullptr); }

  bool boolean(bool value) override { return add(value); }

  bool number_integer(number_integer_t value) override { return add(value); }

  bool number_unsigned(number_unsigned_t value) override { return add(value); }

  bool number_float(number_float_t value, const string_t&) override { return add(value); }

  bool string(string_t& value) override { return add(std::move(value)); }

  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open({Json::object(), {}, {}}); }

  bool end_object() override { return close(); }

  bool start_array(size_t) override { return open({Json::array(), {}, {}}); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    if (!level.names.insert(name).second) {
      fail<FormatError>("{}: not valid JSON: member \"{}\" occurs twice", what_, name);
    }
    level.key = std::move(name);
    return true;
  }

  bool parse_error(
      size_t byte,
      const std::string&,
      const nlohmann::detail::exception& error) override {
    byte_ = byte;
    error_ = error.what();
    return false;
  }

  // Where and why parsing ended, when it failed.
  [[nodiscard]] size_t error_byte() const { return byte_; }

  [[nodiscard]] const std::string& error() const { return error_; }

  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key;
    std::unordered_set<std::string> names;
  };

  bool open(Level level) {
    open_.push_back(std::move(level));
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_object()) {
      level.value.get_ref<Json::object_t&>().emplace_back(
          std::move(level.key), std::move(value));
    } else {
      level.value.push_back(std::move(value));
    }
    return true;
  }

  std::string_view what_;
  size_t byte_ = 0;
  std::string error_;
  std::vector<Level> open_;
  Json root_;
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
  Builder builder(what);
  if (Json::sax_parse(text, &builder)) {
    return builder.take();
  }
  const size_t end = std::min(builder.error_byte(), text.size());
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i + 1 < end; ++i) {
    ++column;
    if (text[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  const std::string& reason = builder.error();
  const size_t colon = reason.rfind(": ");
  fail<FormatError>(
      "{}:{}:{}: not valid JSON: {}",
      what,
      line,
      column,
      colon == std::string::npos ? reason : reason.substr(colon + 2));
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
