#pragma once
// JSON values that keep the order of their members, and strict reading of JSON text.

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace titan {

using Json = nlohmann::ordered_json;

// Parses `text`; `what` names its source in the FormatError ("config.json:3:7: ...").
// Duplicate member names are refused, and so is anything after the value.
[[nodiscard]] Json parse_json(std::string_view text, std::string_view what);

// Reads and parses one JSON file. Throws InputError when it cannot be read.
[[nodiscard]] Json read_json_file(const std::filesystem::path& path);

// The member `key` of `object` as T. FormatError names `what`, the key, the expected and
// the found type. With a fallback, an absent or null member gives the fallback.
template <class T>
[[nodiscard]] T json_get(const Json& object, std::string_view key, std::string_view what);
template <class T>
[[nodiscard]] T json_get(
    const Json& object, std::string_view key, std::string_view what, T fallback);

// A double as the shortest text that reads back to the same bits; "NaN", "Infinity" and
// "-Infinity" where JSON has no number.
[[nodiscard]] std::string exact_number(double value);

}  // namespace titan
