#pragma once
// Limits and combinations of settings. A config may have, beside `fields`,
//
//   static void check(const TrainConfig& self, Problems& problems) {
//     problems.expect(self.steps > 0, "steps", "> 0", self.steps);
//   }
//
// which is called for every aggregate of the tree, so that all problems come out
// together. (A template over Problems needs no include of this header.)

#include <string>
#include <string_view>
#include <vector>

#include "titan/base/error.h"
#include "titan/config/fields.h"

namespace titan::config {

// Takes the problems of one aggregate, whose path it puts in front of each.
class Problems {
 public:
  // Adds to `lines`, which outlives this.
  Problems(std::vector<std::string>& lines, std::string path)
      : lines_(lines), path_(std::move(path)) {}

  // Adds "PATH.name: message"; an empty `name` means the aggregate itself.
  void add(std::string_view name, std::string_view message);

  // Adds "PATH.name: expected > 0, got 0" unless `holds`.
  template <class T>
  void expect(
      bool holds, std::string_view name, std::string_view expected, const T& got) {
    if (!holds) {
      add(name,
          fmt::format("expected {}, got {}", expected, Leaf<T>::to_json(got).dump()));
    }
  }

 private:
  std::vector<std::string>& lines_;
  std::string path_;
};

template <class C>
concept Checked = requires(const C& config, Problems& problems) {
  C::check(config, problems);
};

template <class C>
concept ChecksItself = requires(const C& config, std::vector<std::string>& lines) {
  config.append_problems(lines, "");
};

// Appends the problems of `config` and of every aggregate in it.
template <class C>
void append_problems(
    std::vector<std::string>& lines, const C& config, const std::string& path) {
  if constexpr (ChecksItself<C>) {
    config.append_problems(lines, path);
  } else if constexpr (Aggregate<C>) {
    if constexpr (Checked<C>) {
      Problems problems(lines, path);
      C::check(config, problems);
    }
    C::fields(config, [&](std::string_view name, const auto& member, std::string_view) {
      append_problems(lines, member, join_path(path, name));
    });
  } else if constexpr (kIsAggregateList<C>) {
    for (size_t i = 0; i < config.size(); ++i) {
      append_problems(lines, config[i], join_path(path, std::to_string(i)));
    }
  }
}

// Throws one ConfigError with a line for each of `lines`, if there are any.
void fail_if_any(const std::vector<std::string>& lines);

// Throws one ConfigError that has a line for every problem of `config`.
template <class C>
void check(const C& config) {
  std::vector<std::string> lines;
  append_problems(lines, config, "");
  fail_if_any(lines);
}

}  // namespace titan::config
