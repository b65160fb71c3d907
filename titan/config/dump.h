#pragma once
// The resolved config as JSON, and what follows from it: differences, a hash. Loading a
// dump back gives the same values to the last bit.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "titan/base/json.h"
#include "titan/config/fields.h"

namespace titan::config {

// Nested objects in the order of declaration; lists of groups are arrays. Numbers read
// back to the same bits.
[[nodiscard]] Json dump_fields(std::span<const Field> fields);

template <class C>
[[nodiscard]] Json dump(const C& config) {
  return dump_fields(list_fields(config));
}

// Every value of a dump that is not a group, with its path, in order. An array of objects
// contributes its elements' values at path.0, path.1, ..., any other array is one value.
[[nodiscard]] std::vector<std::pair<std::string, Json>> flatten(const Json& dump);

// One path where two dumps differ; a side without that path has no value.
struct Difference {
  std::string path;
  std::optional<Json> a;
  std::optional<Json> b;
};

// In the order of `a`, then what only `b` has.
[[nodiscard]] std::vector<Difference> diff(const Json& a, const Json& b);

// "train.steps: 10 -> 20", with "(none)" for a missing side.
[[nodiscard]] std::string describe(const Difference& difference);

// 16 hex digits over all paths and values of a dump. The same on every machine; does not
// depend on the order of declaration.
[[nodiscard]] std::string hash(const Json& dump);

}  // namespace titan::config
