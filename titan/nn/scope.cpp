#include "titan/nn/scope.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace titan::nn {

Scope Scope::child(std::string_view name) const {
  Scope scope = *this;
  scope.path_ = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  return scope;
}

Scope Scope::block(std::string_view name) const {
  Scope scope = child(name);
  scope.block_ = static_cast<int>(assembly_->blocks.size());
  assembly_->blocks.push_back({.name = scope.path_, .weights = {}});
  return scope;
}

ops::Weight Scope::parameter(
    std::string_view name, const std::vector<int64_t>& shape, Init init) const {
  TORCH_INTERNAL_ASSERT(block_ >= 0, path_, ": a parameter outside of every block");
  ops::Weight weight = assembly_->sink.declare(
      block_,
      {.name = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name),
       .shape = shape,
       .init = init});
  share(weight);
  return weight;
}

void Scope::share(const ops::Weight& weight) const {
  assembly_->blocks.at(static_cast<size_t>(block_)).weights.push_back(weight);
}

const OverrideEntry* Scope::enter(std::string_view kind) const {
  assembly_->nodes.push_back({.path = path_, .kind = std::string(kind)});
  for (const auto& [path, entry] : assembly_->overrides) {
    if (path == path_) {
      return entry;
    }
  }
  return nullptr;
}

}  // namespace titan::nn
