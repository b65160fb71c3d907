#include "titan/models/common/weights.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

namespace titan::models {
namespace {

constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";

// Tensors that carry no parameter: old exports store the rotary frequencies.
bool is_derived(const std::string& name) {
  return name.ends_with("rotary_emb.inv_freq");
}

// Where the tied embedding is stored. Both names are legal, in either direction.
std::string tied_embedding(const StoredTensors& stored, const std::string& name) {
  const auto holds = [&](const std::string& wanted) {
    return std::find(stored.names.begin(), stored.names.end(), wanted) !=
           stored.names.end();
  };
  if (!holds(kHead)) {
    return name;
  }
  if (holds(name) && !at::equal(stored.tensor(name), stored.tensor(kHead))) {
    fail<FormatError>(
        "{}: tie_word_embeddings is true, but {} and {} differ",
        stored.where,
        name,
        kHead);
  }
  return kHead;
}

void refuse_unexpected(
    const StoredTensors& stored, const std::set<std::string>& used, bool tied) {
  std::vector<std::string> unexpected;
  for (const std::string& name : stored.names) {
    if (!used.contains(name) && !is_derived(name) && !(tied && name == kEmbedding)) {
      unexpected.push_back(name);
    }
  }
  if (!unexpected.empty()) {
    constexpr size_t kShown = 8;
    const size_t count = unexpected.size();
    unexpected.resize(std::min(count, kShown));
    fail<FormatError>(
        "{}: {} tensors that the architecture does not have: {}{}",
        stored.where,
        count,
        fmt::join(unexpected, ", "),
        count > kShown ? ", ..." : "");
  }
}

}  // namespace

StoredTensors stored_tensors(const checkpoint::HfFolder& folder) {
  return {
      .where = folder.path().string(),
      .names = folder.names(),
      .tensor = [&folder](const std::string& name) { return folder.tensor(name); }};
}

StoredTensors stored_tensors(
    const std::vector<checkpoint::TensorSource>& sources, const std::string& where) {
  StoredTensors stored{.where = where, .names = {}, .tensor = {}};
  std::unordered_map<std::string, const checkpoint::TensorSource*> by_name;
  for (const checkpoint::TensorSource& source : sources) {
    stored.names.push_back(source.spec.name);
    by_name.emplace(source.spec.name, &source);
  }
  stored.tensor = [by_name = std::move(by_name), where](const std::string& name) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      fail<InputError>("{}: no tensor called {}", where, name);
    }
    return found->second->load();
  };
  return stored;
}

void load_weights(CausalLm& model, const StoredTensors& stored) {
  const bool tied = model.facts().tied_embeddings;
  std::set<std::string> used;
  for (const WeightName& weight :
       family_of(model.config()).weight_names(model.config())) {
    std::string name = weight.hugging_face;
    if (tied && name == kEmbedding) {
      name = tied_embedding(stored, name);
    }
    const at::Tensor tensor = stored.tensor(name);
    const auto* parameter = model.parameters().find(weight.native);
    TORCH_INTERNAL_ASSERT(parameter != nullptr, weight.native);
    if (tensor.sizes() != at::IntArrayRef(parameter->shape())) {
      fail<FormatError>(
          "{}: {}: expected shape [{}], got [{}]",
          stored.where,
          name,
          fmt::join(parameter->shape(), ", "),
          fmt::join(tensor.sizes(), ", "));
    }
    parameter->master().copy_(tensor);
    used.insert(name);
  }
  refuse_unexpected(stored, used, tied);
  model.parameters().values_changed();
}

std::vector<checkpoint::TensorSource> export_weights(
    const CausalLm& model, at::ScalarType dtype) {
  std::vector<checkpoint::TensorSource> tensors;
  for (const WeightName& weight :
       family_of(model.config()).weight_names(model.config())) {
    const auto* parameter = model.parameters().find(weight.native);
    TORCH_INTERNAL_ASSERT(parameter != nullptr, weight.native);
    tensors.push_back(
        {.spec =
             {.name = weight.hugging_face, .dtype = dtype, .shape = parameter->shape()},
         .load = [master = parameter->master(), dtype] { return master.to(dtype); }});
  }
  return tensors;
}

Json export_config(const CausalLm& model, const Json& source, at::ScalarType dtype) {
  Json config = source.is_null() ? Json::object() : source;
  // The architecture's own form of the rotary settings replaces the older one.
  config.erase("rope_theta");
  config.erase("rope_scaling");
  config.erase("torch_dtype");
  config.update(family_of(model.config()).to_hugging_face(model.config()));
  config["dtype"] = dtype == at::kBFloat16 ? "bfloat16" : "float32";
  return config;
}

}  // namespace titan::models
