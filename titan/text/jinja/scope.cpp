#include "titan/text/jinja/scope.h"

#include <algorithm>

#include <fmt/format.h>

namespace titan::text::jinja {

uint32_t Scope::declare(std::string_view name, bool always_set) {
  if (Name* const known = find(name)) {
    known->always_set = known->always_set || always_set;
    return known->slot;
  }
  const uint32_t slot = declare_hidden();
  names_.push_back({std::string(name), slot, always_set, false});
  return slot;
}

uint32_t Scope::declare_hidden() {
  slots_.push_back(activation_->num_slots++);
  return slots_.back();
}

Scope::Name* Scope::find(std::string_view name) {
  const auto found = std::ranges::find(names_, name, &Name::name);
  return found == names_.end() ? nullptr : &*found;
}

NameExpression::NameExpression(Position position, std::string name)
    : Expression(position),
      name_(std::move(name)),
      reason_(fmt::format("\"{}\" is undefined", name_)) {}

Value NameExpression::evaluate(Context& context) const {
  for (const Address& address : slots_) {
    const Frame* frame = context.frame;
    for (uint32_t i = 0; i < address.hops; ++i) {
      frame = frame->parent;
    }
    const Value& value = frame->slots[address.slot];
    if (!value.is_missing()) {
      return value;
    }
  }
  const Value& value = context.globals[global_];
  return value.is_missing() ? Value::undefined(reason_.c_str()) : value;
}

ScopeTree::ScopeTree() {
  activations_.emplace_back();
  scopes_.emplace_back(nullptr, &activations_.back());
}

Scope* ScopeTree::add(Scope* parent) {
  return &scopes_.emplace_back(parent, parent->activation());
}

Scope* ScopeTree::add_activation(Scope* parent) {
  return &scopes_.emplace_back(parent, &activations_.emplace_back());
}

void ScopeTree::resolve() {
  for (const auto& [expression, scope] : reads_) {
    resolve(*expression, scope);
  }
}

void ScopeTree::resolve(NameExpression& expression, Scope* scope) {
  uint32_t hops = 0;
  while (scope != nullptr) {
    if (Scope::Name* const name = scope->find(expression.name_)) {
      name->read = true;
      expression.slots_.push_back({hops, name->slot});
      if (name->always_set) {
        break;
      }
    }
    Scope* const parent = scope->parent();
    if (parent != nullptr && parent->activation() != scope->activation()) {
      ++hops;
    }
    scope = parent;
  }
  expression.global_ = global(expression.name_);
}

uint32_t ScopeTree::global(const std::string& name) {
  const auto found = std::ranges::find(free_names_, name);
  if (found == free_names_.end()) {
    free_names_.push_back(name);
    return static_cast<uint32_t>(free_names_.size() - 1);
  }
  return static_cast<uint32_t>(found - free_names_.begin());
}

}  // namespace titan::text::jinja
