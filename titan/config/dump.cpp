#include "titan/config/dump.h"

#include <algorithm>

#include <fmt/format.h>

#include "titan/base/rng.h"

namespace titan::config {
namespace {

// The value at `path`, made on the way: members of objects, elements of arrays.
Json& place_at(Json& root, const std::string& path) {
  Json* place = &root;
  size_t start = 0;
  while (start <= path.size()) {
    const size_t dot = std::min(path.find('.', start), path.size());
    const std::string name = path.substr(start, dot - start);
    place = place->is_array() ? &(*place)[std::stoul(name)] : &(*place)[name];
    start = dot + 1;
  }
  return *place;
}

bool is_list_of_groups(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& element) {
           return element.is_object();
         });
}

void append_flat(
    std::vector<std::pair<std::string, Json>>& out,
    const Json& value,
    const std::string& path) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      append_flat(out, member, join_path(path, name));
    }
  } else if (is_list_of_groups(value)) {
    for (size_t i = 0; i < value.size(); ++i) {
      append_flat(out, value[i], join_path(path, std::to_string(i)));
    }
  } else {
    out.emplace_back(path, value);
  }
}

std::string text_of(const std::optional<Json>& value) {
  return value ? value->dump() : "(none)";
}

}  // namespace

Json dump_fields(std::span<const Field> fields) {
  Json root = Json::object();
  for (const Field& field : fields) {
    place_at(root, field.path) =
        field.kind == Field::Kind::kList ? Json::array() : field.get();
  }
  return root;
}

std::vector<std::pair<std::string, Json>> flatten(const Json& dump) {
  std::vector<std::pair<std::string, Json>> values;
  append_flat(values, dump, "");
  return values;
}

std::vector<Difference> diff(const Json& a, const Json& b) {
  const auto in_a = flatten(a);
  const auto in_b = flatten(b);
  const auto find = [](const auto& values, const std::string& path) {
    const auto found = std::find_if(
        values.begin(), values.end(), [&](const auto& v) { return v.first == path; });
    return found == values.end() ? std::optional<Json>() : found->second;
  };
  std::vector<Difference> differences;
  for (const auto& [path, value] : in_a) {
    std::optional<Json> other = find(in_b, path);
    if (other != value) {
      differences.push_back({path, value, std::move(other)});
    }
  }
  for (const auto& [path, value] : in_b) {
    if (!find(in_a, path)) {
      differences.push_back({path, std::nullopt, value});
    }
  }
  return differences;
}

std::string describe(const Difference& difference) {
  return fmt::format(
      "{}: {} -> {}", difference.path, text_of(difference.a), text_of(difference.b));
}

std::string hash(const Json& dump) {
  std::vector<std::string> lines;
  for (const auto& [path, value] : flatten(dump)) {
    lines.push_back(path + "=" + value.dump());
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{:016x}", stable_hash(fmt::format("{}", fmt::join(lines, "\n"))));
}

}  // namespace titan::config
