#pragma once
// What a model family tells the platform about itself. A family is one folder under
// models/ that registers itself here; nothing else in titan knows its name.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "titan/base/json.h"
#include "titan/base/registry.h"
#include "titan/config/any_config.h"
#include "titan/config/registration.h"
#include "titan/nn/decoder.h"
#include "titan/nn/rotary.h"

namespace titan::models {

using at::Tensor;

// The blocks of a language model, in the order in which they run.
struct Decoder {
  std::unique_ptr<nn::Block> embedding;
  std::vector<std::unique_ptr<nn::Block>> layers;
  std::unique_ptr<nn::HeadBlock> head;
  std::shared_ptr<const nn::RotaryTable> rotary;
};

// The numbers that the platform needs of any language model.
struct ModelFacts {
  int64_t vocab = 0;
  int64_t context = 0;  // tokens that the positions are made for
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t qk_head_dim = 0;
  int64_t v_head_dim = 0;
  int64_t kv_heads = 0;
  bool tied_embeddings = false;
};

// A parameter of ours and the tensor of a Hugging Face folder that holds it, same shape.
struct WeightName {
  std::string native;
  std::string hugging_face;
};

struct Size {
  std::string name;  // e.g. "1B"
  config::AnyConfig config;
};

struct Family {
  std::string description;
  std::vector<std::string> architectures;  // Hugging Face's names
  // From config.json; FormatError names `what`, the field, expected and got.
  std::function<config::AnyConfig(const Json& hf, const std::string& what)>
      from_hugging_face;
  std::function<Json(const config::AnyConfig&)> to_hugging_face;
  std::function<Decoder(const nn::Scope&, const config::AnyConfig&)> build;
  std::function<ModelFacts(const config::AnyConfig&)> facts;
  // One entry a parameter; a bijection. With tied embeddings the head has no entry.
  std::function<std::vector<WeightName>(const config::AnyConfig&)> weight_names;
  std::vector<Size> sizes;
};

// All families by name, the type() of their config.
Registry<Family>& families();

// Registers a family from a static initialiser.
struct RegisterFamily {
  RegisterFamily(const std::string& name, Family family) {
    config::register_static([&] { families().add(name, std::move(family)); });
  }
};

// The family of a config. ConfigError when the config is empty.
[[nodiscard]] const Family& family_of(const config::AnyConfig& config);

// A published size of a family. ConfigError names the nearest when there is none called
// `name`.
[[nodiscard]] const config::AnyConfig& size_of(
    const Family& family, const std::string& name);

// The architecture in a config.json. FormatError names the known ones when it is unknown.
[[nodiscard]] config::AnyConfig config_from_hugging_face(
    const Json& hf, const std::string& what);

}  // namespace titan::models
