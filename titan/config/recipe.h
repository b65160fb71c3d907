#pragma once
// Recipes: named functions that return a whole config. They register themselves from
// their own file, or from a plug-in:
//
//   const RegisterRecipe<TrainConfig> registered(
//       "llama3_debug", "a tiny Llama 3 on one machine", &llama3_debug);

#include <functional>
#include <string>

#include "titan/base/registry.h"
#include "titan/config/registration.h"

namespace titan::config {

template <class Config>
struct Recipe {
  std::string description;  // one line
  std::function<Config()> make;
};

// All recipes that give a `Config`.
template <class Config>
[[nodiscard]] Registry<Recipe<Config>>& recipes() {
  static Registry<Recipe<Config>> registry("recipe");
  return registry;
}

// Registers a recipe when it is constructed; meant for a constant at namespace scope. A
// name that is taken is reported through registration.h.
template <class Config>
struct RegisterRecipe {
  RegisterRecipe(
      const std::string& name, std::string description, std::function<Config()> make) {
    register_static([&] {
      recipes<Config>().add(name, {std::move(description), std::move(make)});
    });
  }
};

}  // namespace titan::config
