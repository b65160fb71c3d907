#pragma once
// From a config struct to a flat list of settings. A config is a plain aggregate with
// defaults and one static template that names every member once:
//
//   struct AdamWConfig {
//     double lr = 8e-4;
//     std::vector<double> betas = {0.9, 0.95};
//
//     template <class Self, class Visit>
//     static void fields(Self& self, Visit&& visit) {
//       visit("lr", self.lr, "peak learning rate");
//       visit("betas", self.betas, "decay of the first and second moment");
//     }
//   };
//
// Members may be leaves (leaf.h), other such aggregates, vectors of aggregates, and
// AnyConfig. Everything else here (overrides, dump, help, diff) is ordinary code over the
// list.

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "titan/config/leaf.h"

namespace titan::config {

// One setting. Refers into the config that it was listed from: dead when that config dies
// or when one of its lists is resized.
struct Field {
  enum class Kind {
    kLeaf,
    kList,  // of aggregates; the fields of its elements follow, at path.0, path.1, ...
  };

  std::string path;  // "optimizer.lr", "data.sources.0.path"
  std::string help;
  std::string type;  // "integer", "fp32|bf16", "list of numbers"
  Kind kind = Kind::kLeaf;
  std::function<Json()> get;              // of a leaf
  std::function<void(const Json&)> set;   // of a leaf in a mutable config; all or nothing
  std::function<void(size_t)> make_list;  // of a list: this many elements with defaults
};

// Accepts what `fields` passes to its visitor; for the concept only.
struct AnyVisitor {
  template <class T>
  void operator()(std::string_view, T&, std::string_view) const {}
};

template <class C>
concept Aggregate = requires(C& config) {
  C::fields(config, AnyVisitor());
};

// A member that holds a config of a type that only it knows (AnyConfig).
template <class C>
concept ListsItself = requires(const C& config, std::vector<Field>& out) {
  config.append_fields(out, "");
};

template <class T>
inline constexpr bool kIsAggregateList = false;
template <Aggregate Element>
inline constexpr bool kIsAggregateList<std::vector<Element>> = true;

// "prefix.name"; `name` alone where the prefix is empty.
[[nodiscard]] std::string join_path(std::string_view prefix, std::string_view name);

template <class C>
void append_fields(std::vector<Field>& out, C& config, const std::string& prefix);

// Appends the settings of the member `value` at `path`.
template <class T>
void append_member(
    std::vector<Field>& out, T& value, const std::string& path, std::string_view help) {
  using Value = std::remove_const_t<T>;
  constexpr bool kMutable = !std::is_const_v<T>;
  if constexpr (ListsItself<Value>) {
    value.append_fields(out, path);
  } else if constexpr (Aggregate<Value>) {
    append_fields(out, value, path);
  } else if constexpr (kIsAggregateList<Value>) {
    Field field{
        path, std::string(help), "list of groups", Field::Kind::kList, {}, {}, {}};
    if constexpr (kMutable) {
      field.make_list = [&value](size_t size) { value = Value(size); };
    }
    out.push_back(std::move(field));
    for (size_t i = 0; i < value.size(); ++i) {
      append_fields(out, value[i], join_path(path, std::to_string(i)));
    }
  } else {
    Field field{
        path, std::string(help), Leaf<Value>::type(), Field::Kind::kLeaf, {}, {}, {}};
    field.get = [&value] { return Leaf<Value>::to_json(value); };
    if constexpr (kMutable) {
      field.set = [&value](const Json& given) { value = Leaf<Value>::from_json(given); };
    }
    out.push_back(std::move(field));
  }
}

// Appends the settings of `config` in the order of its `fields`, each path under
// `prefix`.
template <class C>
void append_fields(std::vector<Field>& out, C& config, const std::string& prefix) {
  std::remove_const_t<C>::fields(
      config, [&](std::string_view name, auto& member, std::string_view help) {
        append_member(out, member, join_path(prefix, name), help);
      });
}

// All settings of `config` in the order of declaration.
template <class C>
[[nodiscard]] std::vector<Field> list_fields(C& config) {
  std::vector<Field> fields;
  append_fields(fields, config, "");
  return fields;
}

}  // namespace titan::config
