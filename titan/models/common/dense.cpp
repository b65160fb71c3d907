#include "titan/models/common/dense.h"

#include <cmath>

namespace titan::models {

Decoder build_dense_decoder(
    const nn::Scope& scope, const DenseConfig& config, bool qk_norm) {
  const nn::Init init = nn::Init::normal(0.02);
  const nn::Init output_init =
      nn::Init::normal(0.02 / std::sqrt(2.0 * static_cast<double>(config.layers)));
  Decoder decoder;
  auto embedding = std::make_unique<nn::EmbeddingBlock>(
      scope.block("embed"), config.vocab, config.dim, init);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    decoder.layers.push_back(std::make_unique<nn::DecoderBlock>(
        scope.block(fmt::format("layers.{}", layer)),
        nn::DecoderBlock::Config{
            .attention =
                {.dim = config.dim,
                 .num_heads = config.heads,
                 .num_kv_heads = config.kv_heads,
                 .head_dim = config.head_dim,
                 .qk_norm = qk_norm,
                 .norm_eps = config.norm_eps,
                 .layer = layer,
                 .init = init,
                 .output_init = output_init},
            .feed_forward =
                {.dim = config.dim,
                 .hidden = config.ffn_hidden,
                 .init = init,
                 .output_init = output_init},
            .norm_eps = config.norm_eps}));
  }
  decoder.head = std::make_unique<nn::HeadBlock>(
      scope.block("head"),
      nn::HeadBlock::Config{
          .dim = config.dim,
          .vocab = config.vocab,
          .norm_eps = config.norm_eps,
          .init = nn::Init::normal(1.0 / std::sqrt(static_cast<double>(config.dim)))},
      config.tied_embeddings ? &embedding->weight() : nullptr);
  decoder.embedding = std::move(embedding);
  decoder.rotary = std::make_shared<nn::RotaryTable>(config.rotary, config.head_dim);
  return decoder;
}

std::vector<WeightName> dense_weight_names(const DenseConfig& config, bool qk_norm) {
  std::vector<WeightName> names = {{"embed.weight", "model.embed_tokens.weight"}};
  std::vector<std::pair<const char*, const char*>> layer_names = {
      {"attention_norm", "input_layernorm"},
      {"attention.wq", "self_attn.q_proj"},
      {"attention.wk", "self_attn.k_proj"},
      {"attention.wv", "self_attn.v_proj"},
      {"attention.wo", "self_attn.o_proj"},
      {"ffn_norm", "post_attention_layernorm"},
      {"ffn.gate", "mlp.gate_proj"},
      {"ffn.up", "mlp.up_proj"},
      {"ffn.down", "mlp.down_proj"}};
  if (qk_norm) {
    layer_names.emplace_back("attention.q_norm", "self_attn.q_norm");
    layer_names.emplace_back("attention.k_norm", "self_attn.k_norm");
  }
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    for (const auto& [native, hugging_face] : layer_names) {
      names.push_back(
          {fmt::format("layers.{}.{}.weight", layer, native),
           fmt::format("model.layers.{}.{}.weight", layer, hugging_face)});
    }
  }
  names.push_back({"head.norm.weight", "model.norm.weight"});
  if (!config.tied_embeddings) {
    names.push_back({"head.weight", "lm_head.weight"});
  }
  return names;
}

ModelFacts dense_facts(const DenseConfig& config) {
  return {
      .vocab = config.vocab,
      .context = config.context,
      .layers = config.layers,
      .heads = config.heads,
      .qk_head_dim = config.head_dim,
      .v_head_dim = config.head_dim,
      .kv_heads = config.kv_heads,
      .tied_embeddings = config.tied_embeddings};
}

DenseConfig dense_from_hugging_face(const Json& hf, const std::string& what) {
  for (const auto& [key, expected] : std::initializer_list<std::pair<const char*, Json>>{
           {"attention_bias", false},
           {"mlp_bias", false},
           {"use_sliding_window", false},
           {"hidden_act", "silu"}}) {
    if (hf.contains(key) && hf.at(key) != expected) {
      fail<FormatError>(
          "{}: {}: expected {}, got {}", what, key, expected.dump(), hf.at(key).dump());
    }
  }
  DenseConfig config;
  config.vocab = json_get<int64_t>(hf, "vocab_size", what);
  config.dim = json_get<int64_t>(hf, "hidden_size", what);
  config.layers = json_get<int64_t>(hf, "num_hidden_layers", what);
  config.heads = json_get<int64_t>(hf, "num_attention_heads", what);
  config.kv_heads = json_get<int64_t>(hf, "num_key_value_heads", what, config.heads);
  config.head_dim = json_get<int64_t>(
      hf, "head_dim", what, config.heads > 0 ? config.dim / config.heads : 0);
  config.ffn_hidden = json_get<int64_t>(hf, "intermediate_size", what);
  config.norm_eps = json_get<double>(hf, "rms_norm_eps", what, 1e-6);
  config.context = json_get<int64_t>(hf, "max_position_embeddings", what, 2048);
  config.tied_embeddings = json_get<bool>(hf, "tie_word_embeddings", what, false);
  config.rotary = rotary_from_hugging_face(hf, what);
  return config;
}

Json dense_to_hugging_face(const DenseConfig& config) {
  return {
      {"attention_bias", false},
      {"hidden_act", "silu"},
      {"vocab_size", config.vocab},
      {"hidden_size", config.dim},
      {"num_hidden_layers", config.layers},
      {"num_attention_heads", config.heads},
      {"num_key_value_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"intermediate_size", config.ffn_hidden},
      {"rms_norm_eps", config.norm_eps},
      {"max_position_embeddings", config.context},
      {"tie_word_embeddings", config.tied_embeddings},
      {"rope_parameters", rotary_to_hugging_face(config.rotary)}};
}

}  // namespace titan::models
