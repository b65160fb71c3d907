#pragma once
// Making the parts of a tokenizer by the "type" of their JSON.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/json.h"

namespace titan::text {

// A part's factory: `where` names file and field in errors.
template <class Part>
struct Component {
  std::string_view type;
  std::unique_ptr<Part> (*make)(const Json& node, const std::string& where);
};

// The part that `node` describes. FormatError names a type that is not among `known`.
template <class Part>
std::unique_ptr<Part> make_component(
    const Json& node, const std::string& where, std::span<const Component<Part>> known) {
  const auto type = json_get<std::string>(node, "type", where);
  std::vector<std::string_view> names;
  for (const Component<Part>& component : known) {
    if (component.type == type) {
      return component.make(node, where);
    }
    names.push_back(component.type);
  }
  fail<FormatError>(
      "{}: type \"{}\" is not supported (known: {})",
      where,
      type,
      fmt::join(names, ", "));
}

// The parts in the list member `key` of a Sequence.
template <class Part>
std::vector<std::unique_ptr<Part>> make_sequence(
    const Json& node,
    std::string_view key,
    const std::string& where,
    std::unique_ptr<Part> (*make)(const Json&, const std::string&)) {
  const auto list = node.find(key);
  if (list == node.end() || !list->is_array()) {
    fail<FormatError>("{}: expected a list \"{}\"", where, key);
  }
  std::vector<std::unique_ptr<Part>> parts;
  for (size_t i = 0; i < list->size(); ++i) {
    parts.push_back(make((*list)[i], fmt::format("{}.{}.{}", where, key, i)));
  }
  return parts;
}

}  // namespace titan::text
