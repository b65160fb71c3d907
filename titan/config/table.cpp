#include "titan/config/table.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace titan::config {
namespace {

using Row = std::vector<std::string>;

// A list of groups has no value of its own; its elements follow.
std::string value_of(const Field& field) {
  return field.kind == Field::Kind::kList ? "" : field.get().dump();
}

// Columns two spaces apart, each but the last padded to its widest cell.
std::string align(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string format_values(std::span<const Field> fields, const Json& defaults) {
  std::map<std::string, std::string> usual;
  for (const auto& [path, value] : flatten(defaults)) {
    usual.emplace(path, value.dump());
  }
  std::vector<Row> rows;
  for (const Field& field : fields) {
    const std::string value = value_of(field);
    const auto found = usual.find(field.path);
    const bool same = field.kind == Field::Kind::kList ||
                      (found != usual.end() && found->second == value);
    rows.push_back({same ? " " : "*", field.path, value, field.help});
  }
  return align(rows);
}

std::string format_help(std::span<const Field> fields) {
  std::vector<Row> rows;
  for (const Field& field : fields) {
    rows.push_back({field.path, field.type, value_of(field), field.help});
  }
  return align(rows);
}

}  // namespace titan::config
