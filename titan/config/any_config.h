#pragma once
// A config of a type that its holder need not know, e.g. the model of a training recipe.

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "titan/config/check.h"
#include "titan/config/fields.h"

namespace titan::config {

// An aggregate that says what it is: static constexpr std::string_view kType = "llama3".
// REQUIRES: it has no member listed as "type", which AnyConfig lists itself.
template <class C>
concept TypedAggregate = Aggregate<C> && std::copyable<C> && requires {
  { C::kType } -> std::convertible_to<std::string_view>;
};

// Owns one typed aggregate by value: copies are independent. In lists of settings it
// shows its members and, first, the leaf `type`, which can be set only to what it is
// already: a stored config of another type is refused by name.
class AnyConfig {
 public:
  // Holds nothing and lists no settings. Where that is wrong, the holder's check() says
  // so.
  AnyConfig() = default;

  // Implicit, so that a recipe can write `.model = Llama3Config{...}`.
  template <TypedAggregate C>
  AnyConfig(C config) : holder_(std::make_unique<Holder<C>>(std::move(config))) {}

  AnyConfig(const AnyConfig& other)
      : holder_(other.holder_ ? other.holder_->clone() : nullptr) {}

  AnyConfig(AnyConfig&&) = default;

  AnyConfig& operator=(AnyConfig other) noexcept {
    holder_ = std::move(other.holder_);
    return *this;
  }

  ~AnyConfig() = default;

  // kType of what it holds; empty when it holds nothing.
  [[nodiscard]] std::string_view type() const {
    return holder_ ? holder_->type() : std::string_view();
  }

  // The held config when it is a C, else null.
  template <TypedAggregate C>
  [[nodiscard]] C* find() {
    auto* holder = dynamic_cast<Holder<C>*>(holder_.get());
    return holder == nullptr ? nullptr : &holder->config;
  }

  template <TypedAggregate C>
  [[nodiscard]] const C* find() const {
    return const_cast<AnyConfig*>(this)->find<C>();
  }

  // The held config. Throws ConfigError naming both types when it is not a C.
  template <TypedAggregate C>
  [[nodiscard]] C& as() {
    if (C* config = find<C>()) {
      return *config;
    }
    fail_type(C::kType);
  }

  template <TypedAggregate C>
  [[nodiscard]] const C& as() const {
    return const_cast<AnyConfig*>(this)->as<C>();
  }

  void append_fields(std::vector<Field>& out, const std::string& path);
  void append_fields(std::vector<Field>& out, const std::string& path) const;
  void append_problems(std::vector<std::string>& lines, const std::string& path) const;

 private:
  struct Base {
    virtual ~Base() = default;
    [[nodiscard]] virtual std::unique_ptr<Base> clone() const = 0;
    [[nodiscard]] virtual std::string_view type() const = 0;
    virtual void append_fields(std::vector<Field>& out, const std::string& path) = 0;
    virtual void append_fields(
        std::vector<Field>& out, const std::string& path) const = 0;
    virtual void append_problems(
        std::vector<std::string>& lines, const std::string& path) const = 0;
  };

  template <class C>
  struct Holder : Base {
    explicit Holder(C value) : config(std::move(value)) {}

    [[nodiscard]] std::unique_ptr<Base> clone() const override {
      return std::make_unique<Holder>(config);
    }

    [[nodiscard]] std::string_view type() const override { return C::kType; }

    void append_fields(std::vector<Field>& out, const std::string& path) override {
      config::append_fields(out, config, path);
    }

    void append_fields(std::vector<Field>& out, const std::string& path) const override {
      config::append_fields(out, config, path);
    }

    void append_problems(
        std::vector<std::string>& lines, const std::string& path) const override {
      config::append_problems(lines, config, path);
    }

    C config;
  };

  [[noreturn]] void fail_type(std::string_view wanted) const;

  std::unique_ptr<Base> holder_;
};

}  // namespace titan::config
