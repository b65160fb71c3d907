#pragma once
// Where a template's variables live. Every name that is set gets a slot when the template
// is compiled; a name that is read gets the slots to look at, from the innermost scope
// outwards, and then the variables of the rendering.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/text/jinja/context.h"
#include "titan/text/jinja/node.h"

namespace titan::text::jinja {

// The slots of one activation: the template itself, a macro, a recursive loop.
struct Activation {
  uint32_t num_slots = 0;

  // Slots of a new activation.
  [[nodiscard]] std::span<Value> make_slots(Arena& arena) const {
    return arena.make_array<Value>(num_slots);
  }
};

// A region of the template in which set names are its own: a loop's body, a macro, ...
class Scope {
 public:
  Scope(Scope* parent, Activation* activation)
      : parent_(parent), activation_(activation) {}

  // The slot of `name`, made on first use. `always_set`: it has a value whenever the
  // scope's code runs, as a loop's target has.
  uint32_t declare(std::string_view name, bool always_set = false);

  // A slot without a name.
  uint32_t declare_hidden();

  // Unsets the scope's variables, as on entry.
  void clear(Frame& frame) const {
    for (const uint32_t slot : slots_) {
      frame.slots[slot] = Value();
    }
  }

  struct Name {
    std::string name;
    uint32_t slot;
    bool always_set;
    bool read;  // by an expression
  };

  // Null where the scope has no such name.
  [[nodiscard]] Name* find(std::string_view name);

  [[nodiscard]] bool is_read(std::string_view name) {
    const Name* const found = find(name);
    return found != nullptr && found->read;
  }

  [[nodiscard]] Scope* parent() const { return parent_; }

  [[nodiscard]] Activation* activation() const { return activation_; }

 private:
  Scope* parent_;
  Activation* activation_;
  std::vector<Name> names_;
  std::vector<uint32_t> slots_;
};

class NameExpression final : public Expression {
 public:
  NameExpression(Position position, std::string name);

  [[nodiscard]] Value evaluate(Context& context) const override;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class ScopeTree;

  struct Address {
    uint32_t hops;  // activations outwards
    uint32_t slot;
  };

  std::string name_;
  std::string reason_;
  std::vector<Address> slots_;
  uint32_t global_ = 0;
};

// All scopes of a template. Addresses stay valid.
class ScopeTree {
 public:
  ScopeTree();

  [[nodiscard]] Scope* root() { return &scopes_.front(); }

  [[nodiscard]] const Activation& root_activation() const { return activations_.front(); }

  // Within the same activation, or in a new one.
  Scope* add(Scope* parent);
  Scope* add_activation(Scope* parent);

  // `expression` stands in `scope`; it is resolved by resolve().
  void add_read(NameExpression* expression, Scope* scope) {
    reads_.emplace_back(expression, scope);
  }

  // Once all is declared: the slots of every name that is read.
  void resolve();

  // The names that the template takes from outside, by their number.
  [[nodiscard]] const std::vector<std::string>& free_names() const { return free_names_; }

 private:
  void resolve(NameExpression& expression, Scope* scope);
  uint32_t global(const std::string& name);

  std::deque<Activation> activations_;
  std::deque<Scope> scopes_;
  std::vector<std::pair<NameExpression*, Scope*>> reads_;
  std::vector<std::string> free_names_;
};

}  // namespace titan::text::jinja
