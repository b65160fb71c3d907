#include "titan/config/config_file.h"

#include <algorithm>
#include <cmath>

#include <toml++/toml.h>

#include "titan/base/error.h"

namespace titan::config {
namespace {

std::string place(const fs::path& path, const toml::source_region& source) {
  return fmt::format("{}:{}", path.string(), source.begin.line);
}

Json to_json(const fs::path& path, const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, member] : *table) {
      object[std::string(key.str())] = to_json(path, member);
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& element : *array) {
      list.push_back(to_json(path, element));
    }
    return list;
  }
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* integer = node.as_integer()) {
    return integer->get();
  }
  if (const auto* number = node.as_floating_point()) {
    return number_to_json(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return flag->get();
  }
  fail<FormatError>(
      "{}: expected a string, number, list or table, got a date or time",
      place(path, node.source()));
}

// A table's members are assignments of their own, so that each error has its line. An
// empty table is one as well: its name may be wrong.
void append_assignments(
    std::vector<Assignment>& out,
    const fs::path& path,
    const toml::node& node,
    const std::string& name) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->empty()) {
    out.push_back(
        {.path = name,
         .value = to_json(path, node),
         .typed = false,
         .source = place(path, node.source())});
    return;
  }
  for (const auto& [key, member] : *table) {
    append_assignments(out, path, member, join_path(name, key.str()));
  }
}

std::vector<Assignment> read_toml(const fs::path& path) {
  try {
    const toml::table root = toml::parse(read_file(path), path.string());
    std::vector<Assignment> assignments;
    append_assignments(assignments, path, root, "");
    return assignments;
  } catch (const toml::parse_error& error) {
    fail<FormatError>(
        "{}: not valid TOML: {}", place(path, error.source()), error.description());
  }
}

}  // namespace

std::vector<Assignment> read_config_file(const fs::path& path) {
  if (path.extension() == ".toml") {
    return read_toml(path);
  }
  if (path.extension() == ".json") {
    return {
        {.path = "",
         .value = read_json_file(path),
         .typed = false,
         .source = path.string()}};
  }
  fail<InputError>("{}: expected a file named .toml or .json", path.string());
}

}  // namespace titan::config
