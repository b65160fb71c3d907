#pragma once
// Where a module stands while a model is being assembled: its path in the module tree,
// the block that its parameters belong to, and the overrides that may replace it.
// Assembly declares parameters but allocates none, so building a model of any size is
// cheap.

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "titan/ops/weight.h"

namespace titan::nn {

// How a parameter starts when it is not loaded. The values of a parameter depend only on
// the run's seed and its name, so they are the same in every parallel layout.
struct Init {
  enum class Kind { kZeros, kOnes, kNormal };
  Kind kind = Kind::kZeros;
  double standard_deviation = 0;

  static Init zeros() { return {Kind::kZeros, 0}; }

  static Init ones() { return {Kind::kOnes, 0}; }

  static Init normal(double standard_deviation) {
    return {Kind::kNormal, standard_deviation};
  }
};

struct ParameterSpec {
  std::string name;  // full path, e.g. "layers.3.attention.wq.weight"
  std::vector<int64_t> shape;
  Init init;
};

// Takes the declarations; implemented by parallel::ParameterStore.
class ParameterSink {
 public:
  virtual ~ParameterSink() = default;
  // The handle of a new parameter of block number `block` (blocks count from 0).
  virtual ops::Weight declare(int block, const ParameterSpec& spec) = 0;
};

// One replaceable node of the module tree.
struct NodeInfo {
  std::string path;
  std::string kind;
};

// An implementation that can replace nodes of one kind; see RegisterOverride in
// override.h.
struct OverrideEntry {
  std::string kind;
  std::string description;
  std::any factory;  // Factory<Node> of the node type with that kind
};

// Which node paths an override replaces (override.h: resolve_overrides).
using OverrideMap = std::vector<std::pair<std::string, const OverrideEntry*>>;

// The state of one assembly, filled while the modules are constructed.
struct Assembly {
  explicit Assembly(ParameterSink& parameter_sink, OverrideMap override_map = {})
      : sink(parameter_sink), overrides(std::move(override_map)) {}

  struct Block {
    std::string name;
    std::vector<ops::Weight>
        weights;  // declared by the block, or shared with an earlier one
  };

  ParameterSink& sink;
  OverrideMap overrides;
  std::vector<NodeInfo> nodes;
  std::vector<Block> blocks;
};

class Scope;

template <class Node>
using Factory =
    std::function<std::unique_ptr<Node>(const Scope&, const typename Node::Config&)>;

// A position in the tree. Cheap to copy; REQUIRES: the Assembly outlives it.
class Scope {
 public:
  explicit Scope(Assembly& assembly) : assembly_(&assembly) {}

  [[nodiscard]] Scope child(std::string_view name) const;
  // A child whose parameters form a new block: the unit that is gathered, run, replayed
  // and reduced together.
  [[nodiscard]] Scope block(std::string_view name) const;

  [[nodiscard]] const std::string& path() const { return path_; }

  // Declares a parameter `path.name` of this scope's block. REQUIRES: the scope is in a
  // block.
  [[nodiscard]] ops::Weight parameter(
      std::string_view name, const std::vector<int64_t>& shape, Init init) const;
  // States that this block also uses a parameter of an earlier block (tied weights).
  void share(const ops::Weight& weight) const;

  // Builds the replaceable node `name`: with the override that claims its path, else with
  // `standard`. Node::kKind names the kind, Node::Config its configuration.
  template <class Node>
  [[nodiscard]] std::unique_ptr<Node> make(
      std::string_view name,
      const typename Node::Config& config,
      const Factory<Node>& standard) const {
    const Scope node = child(name);
    const OverrideEntry* claimed = node.enter(Node::kKind);
    return claimed == nullptr
               ? standard(node, config)
               : std::any_cast<const Factory<Node>&>(claimed->factory)(node, config);
  }

 private:
  // Records the node and returns the override that claims it, if any.
  const OverrideEntry* enter(std::string_view kind) const;

  Assembly* assembly_;
  std::string path_;
  int block_ = -1;
};

}  // namespace titan::nn
