#include <array>

#include "titan/models/llama3/config.h"

namespace titan::models {
namespace {

nn::RotaryConfig scaled(double factor) {
  return {
      .theta = 500000,
      .scaling = nn::RotaryScaling::kLlama3,
      .factor = factor,
      .original_context = 8192};
}

// dim, layers, heads, head_dim, ffn_hidden; the rest is common to the published sizes.
Llama3Config published(
    std::array<int64_t, 5> sizes, bool tied_embeddings, double rotary_factor) {
  return {
      .dense = {
          .vocab = 128256,
          .dim = sizes[0],
          .layers = sizes[1],
          .heads = sizes[2],
          .kv_heads = 8,
          .head_dim = sizes[3],
          .ffn_hidden = sizes[4],
          .norm_eps = 1e-5,
          .context = 131072,
          .tied_embeddings = tied_embeddings,
          .rotary = scaled(rotary_factor)}};
}

std::vector<Size> sizes() {
  // The debug shape is TorchTitan's: 6.2 M parameters that train in seconds.
  const Llama3Config debug = {
      .dense = {
          .vocab = 2048,
          .dim = 256,
          .layers = 6,
          .heads = 16,
          .kv_heads = 16,
          .head_dim = 16,
          .ffn_hidden = 768,
          .norm_eps = 1e-5,
          .context = 2048,
          .tied_embeddings = false,
          .rotary = {.theta = 500000}}};
  return {
      {"debug", debug},
      {"1B", published({2048, 16, 32, 64, 8192}, true, 32)},
      {"3B", published({3072, 28, 24, 128, 8192}, true, 32)},
      {"8B", published({4096, 32, 32, 128, 14336}, false, 8)},
      {"70B", published({8192, 80, 64, 128, 28672}, false, 8)},
      {"405B", published({16384, 126, 128, 128, 53248}, false, 8)}};
}

const RegisterFamily kLlama3(
    std::string(Llama3Config::kType),
    dense_family<Llama3Config>(
        {.description = "Llama 3 to 3.3, SmolLM2 and others of that architecture",
         .architecture = "LlamaForCausalLM",
         .model_type = "llama",
         .qk_norm = false,
         .extra_settings = {{"mlp_bias", false}},
         .sizes = sizes()}));

}  // namespace

Llama3Config llama3_size(const std::string& name) {
  return size_of(families().at(std::string(Llama3Config::kType)), name)
      .as<Llama3Config>();
}

}  // namespace titan::models
