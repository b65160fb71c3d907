#pragma once
// The dense decoder that several families share: pre-norm grouped-query attention and
// SwiGLU.

#include <cstdint>
#include <string>
#include <vector>

#include "titan/models/common/family.h"
#include "titan/nn/rotary.h"

namespace titan::models {

// A family's config holds one of these and lists its fields as its own.
struct DenseConfig {
  int64_t vocab = 0;
  int64_t dim = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn_hidden = 0;
  double norm_eps = 1e-5;
  int64_t context = 0;
  bool tied_embeddings = false;
  nn::RotaryConfig rotary;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("vocab", self.vocab, "token ids");
    visit("dim", self.dim, "width of the residual stream");
    visit("layers", self.layers, "decoder layers");
    visit("heads", self.heads, "query heads");
    visit("kv_heads", self.kv_heads, "key and value heads");
    visit("head_dim", self.head_dim, "width of one head");
    visit("ffn_hidden", self.ffn_hidden, "width of the feed-forward layer");
    visit("norm_eps", self.norm_eps, "added to the mean square");
    visit("context", self.context, "tokens that the positions are made for");
    visit(
        "tied_embeddings", self.tied_embeddings, "the head reads the embedding's weight");
    visit("rotary", self.rotary, "rotary position embedding");
  }

  template <class Problems>
  static void check(const DenseConfig& self, Problems& problems) {
    problems.expect(self.vocab > 0, "vocab", "> 0", self.vocab);
    problems.expect(self.dim > 0, "dim", "> 0", self.dim);
    problems.expect(self.layers > 0, "layers", "> 0", self.layers);
    problems.expect(self.heads > 0, "heads", "> 0", self.heads);
    problems.expect(
        self.kv_heads > 0 && self.heads % self.kv_heads == 0,
        "kv_heads",
        "a divisor of heads",
        self.kv_heads);
    problems.expect(
        self.head_dim > 0 && self.head_dim % 2 == 0,
        "head_dim",
        "even and > 0",
        self.head_dim);
    problems.expect(self.ffn_hidden > 0, "ffn_hidden", "> 0", self.ffn_hidden);
    problems.expect(self.context > 0, "context", "> 0", self.context);
  }
};

// Initial weights: normal with deviation 0.02; the two products that write into the
// residual stream are divided by sqrt(2 layers), and an untied head has 1/sqrt(dim). With
// qk_norm, every query and key head is normalised before the rotary embedding.
[[nodiscard]] Decoder build_dense_decoder(
    const nn::Scope& scope, const DenseConfig& config, bool qk_norm);
[[nodiscard]] std::vector<WeightName> dense_weight_names(
    const DenseConfig& config, bool qk_norm);
[[nodiscard]] ModelFacts dense_facts(const DenseConfig& config);

// To and from the fields of config.json that these models share; settings that would
// change the equations (biases, other activations, sliding windows) are refused by name.
[[nodiscard]] DenseConfig dense_from_hugging_face(
    const Json& hf, const std::string& what);
[[nodiscard]] Json dense_to_hugging_face(const DenseConfig& config);

// What distinguishes one dense family from another.
struct DenseFamily {
  std::string description;
  std::string architecture;  // Hugging Face's names of class and model type
  std::string model_type;
  bool qk_norm = false;
  Json extra_settings;  // of config.json, beside those of dense_to_hugging_face
  std::vector<Size> sizes;
};

// The registry entry of a family whose Config holds nothing but a DenseConfig `dense`.
template <class Config>
[[nodiscard]] Family dense_family(const DenseFamily& traits) {
  const auto dense = [](const config::AnyConfig& any) -> const DenseConfig& {
    return any.as<Config>().dense;
  };
  const bool qk_norm = traits.qk_norm;
  return {
      .description = traits.description,
      .architectures = {traits.architecture},
      .from_hugging_face = [](const Json& hf, const std::string& what)
          -> config::AnyConfig { return Config{dense_from_hugging_face(hf, what)}; },
      .to_hugging_face =
          [dense, traits](const config::AnyConfig& any) {
            Json hf = {
                {"architectures", {traits.architecture}},
                {"model_type", traits.model_type}};
            hf.update(dense_to_hugging_face(dense(any)));
            hf.update(traits.extra_settings);
            return hf;
          },
      .build =
          [dense, qk_norm](const nn::Scope& scope, const config::AnyConfig& any) {
            return build_dense_decoder(scope, dense(any), qk_norm);
          },
      .facts = [dense](const config::AnyConfig& any) { return dense_facts(dense(any)); },
      .weight_names =
          [dense, qk_norm](const config::AnyConfig& any) {
            return dense_weight_names(dense(any), qk_norm);
          },
      .sizes = traits.sizes};
}

// Reads Hugging Face's `rope_parameters`, or the older `rope_theta` and `rope_scaling`.
[[nodiscard]] nn::RotaryConfig rotary_from_hugging_face(
    const Json& hf, const std::string& what);
[[nodiscard]] Json rotary_to_hugging_face(const nn::RotaryConfig& rotary);

}  // namespace titan::models
