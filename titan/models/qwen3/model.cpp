#include <array>

#include "titan/models/qwen3/config.h"

namespace titan::models {
namespace {

// dim, layers, heads, ffn_hidden; the rest is common to the published sizes.
Qwen3Config published(std::array<int64_t, 4> sizes, bool tied_embeddings) {
  return {
      .dense = {
          .vocab = 151936,
          .dim = sizes[0],
          .layers = sizes[1],
          .heads = sizes[2],
          .kv_heads = 8,
          .head_dim = 128,
          .ffn_hidden = sizes[3],
          .norm_eps = 1e-6,
          .context = 40960,
          .tied_embeddings = tied_embeddings,
          .rotary = {.theta = 1000000}}};
}

std::vector<Size> sizes() {
  const Qwen3Config debug = {
      .dense = {
          .vocab = 2048,
          .dim = 256,
          .layers = 6,
          .heads = 16,
          .kv_heads = 8,
          .head_dim = 16,
          .ffn_hidden = 768,
          .norm_eps = 1e-6,
          .context = 2048,
          .tied_embeddings = true,
          .rotary = {.theta = 1000000}}};
  return {
      {"debug", debug},
      {"0.6B", published({1024, 28, 16, 3072}, true)},
      {"1.7B", published({2048, 28, 16, 6144}, true)},
      {"4B", published({2560, 36, 32, 9728}, true)},
      {"8B", published({4096, 36, 32, 12288}, false)},
      {"14B", published({5120, 40, 40, 17408}, false)},
      {"32B", published({5120, 64, 64, 25600}, false)}};
}

const RegisterFamily kQwen3(
    std::string(Qwen3Config::kType),
    dense_family<Qwen3Config>(
        {.description = "Qwen3 dense",
         .architecture = "Qwen3ForCausalLM",
         .model_type = "qwen3",
         .qk_norm = true,
         .extra_settings = {{"use_sliding_window", false}},
         .sizes = sizes()}));

}  // namespace

Qwen3Config qwen3_size(const std::string& name) {
  return size_of(families().at(std::string(Qwen3Config::kType)), name).as<Qwen3Config>();
}

}  // namespace titan::models
