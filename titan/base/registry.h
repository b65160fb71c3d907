#pragma once
// Named components that register themselves: recipes, models, overrides, data sources. A
// shared library loaded with --plugin registers from its static initialisers in the same
// way.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/nearest.h"

namespace titan {

// The process-wide table of `Entry` values by name. Entries are added before main() or
// while a plug-in loads and never removed; lookups need no lock after that.
template <class Entry>
class Registry {
 public:
  // `kind` names the entries in errors, e.g. "recipe".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(const std::string& name, Entry entry) {
    if (!entries_.emplace(name, std::move(entry)).second) {
      fail<ConfigError>("{} \"{}\" is registered twice", kind_, name);
    }
  }

  [[nodiscard]] const Entry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

  // Throws ConfigError that names the nearest entry when there is none called `name`.
  [[nodiscard]] const Entry& at(const std::string& name) const {
    if (const Entry* entry = find(name)) {
      return *entry;
    }
    const std::vector<std::string> known = names();
    fail<ConfigError>(
        "no {} called \"{}\"{}",
        kind_,
        name,
        known.empty() ? ""
                      : fmt::format("; did you mean \"{}\"?", nearest_name(name, known)));
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) {
      names.push_back(name);
    }
    return names;
  }

 private:
  std::string kind_;
  std::map<std::string, Entry> entries_;
};

}  // namespace titan
