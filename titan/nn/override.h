#pragma once
// Implementation overrides: `layers.*.ffn=relu2` replaces the nodes whose path matches
// the glob by what the factory `relu2` builds, without touching the model.

#include <string>
#include <vector>

#include "titan/base/registry.h"
#include "titan/config/registration.h"
#include "titan/nn/scope.h"

namespace titan::nn {

// Every registered override by name.
Registry<OverrideEntry>& overrides();

// Registers a factory for Node from a static initialiser:
//   const RegisterOverride<FeedForward> kRelu2("relu2", "squared ReLU", &make_relu2);
template <class Node>
struct RegisterOverride {
  RegisterOverride(std::string name, std::string description, Factory<Node> factory) {
    config::register_static([&] {
      overrides().add(
          name,
          {.kind = std::string(Node::kKind),
           .description = std::move(description),
           .factory = std::move(factory)});
    });
  }
};

// Resolves `glob=name` claims against the nodes of the original tree, before any is
// replaced. ConfigError lists every problem, one a line: not of that form, unknown name,
// a glob that matches nothing, a matching node of another kind, two claims on one node, a
// claim below a node that is itself claimed.
[[nodiscard]] OverrideMap resolve_overrides(
    const std::vector<std::string>& claims, const std::vector<NodeInfo>& nodes);

}  // namespace titan::nn
