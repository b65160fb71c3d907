#include "titan/nn/override.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace titan::nn {
namespace {

struct Claim {
  std::string text;  // as written, for messages
  std::string path;
  const OverrideEntry* entry;
};

// The nodes that one `glob=name` text claims; problems are appended as lines.
std::vector<Claim> claims_of(
    const std::string& text,
    const std::vector<NodeInfo>& nodes,
    std::vector<std::string>& problems) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    problems.push_back(fmt::format("overrides: expected glob=name, got \"{}\"", text));
    return {};
  }
  const std::string glob = text.substr(0, equals);
  const std::string name = text.substr(equals + 1);
  const OverrideEntry* entry = overrides().find(name);
  if (entry == nullptr) {
    problems.push_back(fmt::format(
        "overrides: {}: no override called \"{}\"; registered: {}",
        text,
        name,
        fmt::join(overrides().names(), ", ")));
    return {};
  }
  std::vector<Claim> claims;
  bool matched = false;
  for (const NodeInfo& node : nodes) {
    if (!glob_match(glob, node.path)) {
      continue;
    }
    matched = true;
    if (node.kind == entry->kind) {
      claims.push_back({text, node.path, entry});
    }
  }
  if (!matched) {
    std::vector<std::string> paths;
    for (const NodeInfo& node : nodes) {
      paths.push_back(node.path);
    }
    problems.push_back(fmt::format(
        "overrides: {}: no node matches \"{}\"; nearest: {}",
        text,
        glob,
        nearest_name(glob, paths)));
  } else if (claims.empty()) {
    problems.push_back(fmt::format(
        "overrides: {}: \"{}\" replaces {} nodes, but \"{}\" matches none of that kind",
        text,
        name,
        entry->kind,
        glob));
  }
  return claims;
}

bool below(const std::string& path, const std::string& ancestor) {
  return path.size() > ancestor.size() && path.starts_with(ancestor) &&
         path[ancestor.size()] == '.';
}

}  // namespace

Registry<OverrideEntry>& overrides() {
  static Registry<OverrideEntry> registry("override");
  return registry;
}

OverrideMap resolve_overrides(
    const std::vector<std::string>& claims, const std::vector<NodeInfo>& nodes) {
  std::vector<std::string> problems;
  std::vector<Claim> all;
  for (const std::string& text : claims) {
    for (Claim& claim : claims_of(text, nodes, problems)) {
      all.push_back(std::move(claim));
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i < j && all[i].path == all[j].path) {
        problems.push_back(fmt::format(
            "overrides: {} and {} both claim {}", all[i].text, all[j].text, all[i].path));
      } else if (below(all[j].path, all[i].path)) {
        problems.push_back(fmt::format(
            "overrides: {} claims {}, which is inside {} claimed by {}",
            all[j].text,
            all[j].path,
            all[i].path,
            all[i].text));
      }
    }
  }
  if (!problems.empty()) {
    throw ConfigError(fmt::format("{}", fmt::join(problems, "\n")));
  }
  OverrideMap map;
  for (const Claim& claim : all) {
    map.emplace_back(claim.path, claim.entry);
  }
  return map;
}

}  // namespace titan::nn
