#pragma once
// Changing a config by path: `train.steps=20` on the command line, or a stored or written
// file. A path that names nothing is an error with the nearest path; all errors of all
// assignments, and of check(), are reported together.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"
#include "titan/config/check.h"
#include "titan/config/fields.h"

namespace titan::config {

// One `path=value`. The value of a group is an object, whose members are assigned in turn
// (the empty path is the whole config). The value of a list of groups is an array that
// replaces the list: members it does not name have their defaults.
struct Assignment {
  std::string path;
  Json value;
  // The value is what the user typed, to be read as JSON where that is what fits.
  bool typed = false;
  // Shown in front of errors, e.g. "run.toml:12"; empty for the command line.
  std::string source;
};

// `path=value` texts. A value is JSON where that gives what the setting takes, else the
// text itself: steps=20, dtype=bf16, data.sources.0.path=a.jsonl, betas=[0.9,0.95].
// Throws ConfigError naming every text without `=` or path.
[[nodiscard]] std::vector<Assignment> parse_overrides(std::span<const std::string> texts);

// Lists the settings of the config being changed; called again after a list was resized.
using Lister = std::function<std::vector<Field>()>;

// Performs `assignments` in order; returns one line for each that failed.
[[nodiscard]] std::vector<std::string> assign(
    const Lister& list, std::span<const Assignment> assignments);

// Performs `assignments` and checks the result. Throws one ConfigError with a line for
// every problem, and then leaves `config` as it was.
template <class C>
void configure(C& config, std::span<const Assignment> assignments) {
  C changed = config;
  std::vector<std::string> lines =
      assign([&] { return list_fields(changed); }, assignments);
  append_problems(lines, changed, "");
  fail_if_any(lines);
  config = std::move(changed);
}

}  // namespace titan::config
