#include "titan/checkpoint/gguf_import.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <set>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/checkpoint/gguf.h"

namespace titan::checkpoint {
namespace {

struct Architecture {
  std::string_view name;  // general.architecture, also Hugging Face's model_type
  std::string_view hf_class;
  // llama.cpp stores the q and k rows of these models for RoPE over neighbouring pairs,
  // Hugging Face for RoPE over the two halves of a head.
  bool interleaved_rope;
  bool qk_norm;
};

constexpr std::array kArchitectures = {
    Architecture{"llama", "LlamaForCausalLM", true, false},
    Architecture{"qwen3", "Qwen3ForCausalLM", false, true},
};

// Typed reading of the metadata, with the file and the key in every error.
class Metadata {
 public:
  explicit Metadata(const GgufFile& file) : file_(file) {}

  [[nodiscard]] const Json* find(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? nullptr : &found->second;
  }

  template <class T>
  [[nodiscard]] T get(const std::string& key) const {
    return convert<T>(key, find(key));
  }

  template <class T>
  [[nodiscard]] std::optional<T> try_get(const std::string& key) const {
    const Json* value = find(key);
    return value == nullptr ? std::nullopt : std::optional<T>(convert<T>(key, value));
  }

  template <class T>
  [[nodiscard]] T get(const std::string& key, T fallback) const {
    return try_get<T>(key).value_or(std::move(fallback));
  }

  // An integer that counts something: 1 or more.
  [[nodiscard]] int64_t count(const std::string& key) const {
    return positive(key, get<int64_t>(key));
  }

  [[nodiscard]] int64_t count(const std::string& key, int64_t fallback) const {
    return positive(key, get<int64_t>(key, fallback));
  }

  [[nodiscard]] std::string path() const { return file_.path().string(); }

 private:
  template <class T>
  [[nodiscard]] T convert(const std::string& key, const Json* value) const {
    Json object = Json::object();  // json_get's errors name the key
    if (value != nullptr) {
      object[key] = *value;
    }
    return json_get<T>(object, key, path());
  }

  [[nodiscard]] int64_t positive(const std::string& key, int64_t value) const {
    if (value < 1 || value > std::numeric_limits<int32_t>::max()) {
      fail<FormatError>("{}: {}: expected a positive count, got {}", path(), key, value);
    }
    return value;
  }

  const GgufFile& file_;
};

struct Dims {
  int64_t layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary;
  bool tied;
};

const Architecture& architecture_of(const Metadata& metadata) {
  const auto name = metadata.get<std::string>("general.architecture");
  for (const Architecture& known : kArchitectures) {
    if (known.name == name) {
      return known;
    }
  }
  fail<InputError>(
      "{}: general.architecture: expected llama or qwen3, got \"{}\"",
      metadata.path(),
      name);
}

Dims read_dims(
    const GgufFile& file, const Metadata& metadata, const std::string& prefix) {
  Dims dims{};
  dims.layers = metadata.count(prefix + "block_count");
  dims.hidden = metadata.count(prefix + "embedding_length");
  dims.intermediate = metadata.count(prefix + "feed_forward_length");
  dims.heads = metadata.count(prefix + "attention.head_count");
  dims.kv_heads = metadata.count(prefix + "attention.head_count_kv", dims.heads);
  dims.head_dim =
      metadata.count(prefix + "attention.key_length", dims.hidden / dims.heads);
  dims.vocabulary = file.info("token_embd.weight").shape.front();
  dims.tied = !file.contains("output.weight");
  return dims;
}

// What the Hugging Face config has no place for, or titan's models do not compute.
void refuse_unsupported(
    const Metadata& metadata, const std::string& prefix, const Dims& dims) {
  const auto expect = [&](const std::string& key, int64_t expected) {
    const auto got = metadata.get<int64_t>(prefix + key, expected);
    if (got != expected) {
      fail<InputError>(
          "{}: {}{}: expected {}, got {}", metadata.path(), prefix, key, expected, got);
    }
  };
  expect("expert_count", 0);
  expect("attention.value_length", dims.head_dim);
  expect("rope.dimension_count", dims.head_dim);
  expect("attention.sliding_window", 0);
  const auto scaling = metadata.get<std::string>(prefix + "rope.scaling.type", "none");
  if (scaling != "none") {
    fail<InputError>(
        "{}: {}rope.scaling.type: expected none, got \"{}\"",
        metadata.path(),
        prefix,
        scaling);
  }
}

Json make_config(
    const Metadata& metadata,
    const Architecture& architecture,
    const Dims& dims,
    at::ScalarType dtype) {
  const std::string prefix = std::string(architecture.name) + ".";
  Json config = {
      {"architectures", {architecture.hf_class}},
      {"attention_bias", false},
      {"head_dim", dims.head_dim},
      {"hidden_act", "silu"},
      {"hidden_size", dims.hidden},
      {"intermediate_size", dims.intermediate},
      {"max_position_embeddings", metadata.count(prefix + "context_length")},
      {"mlp_bias", false},
      {"model_type", architecture.name},
      {"num_attention_heads", dims.heads},
      {"num_hidden_layers", dims.layers},
      {"num_key_value_heads", dims.kv_heads},
      {"rms_norm_eps", metadata.get<double>(prefix + "attention.layer_norm_rms_epsilon")},
      {"rope_theta", metadata.get<double>(prefix + "rope.freq_base", 10000.0)},
      {"tie_word_embeddings", dims.tied},
      {"torch_dtype", dtype == at::kFloat ? "float32" : "bfloat16"},
      {"vocab_size", dims.vocabulary}};
  constexpr std::pair<const char*, const char*> kTokens[] = {
      {"bos_token_id", "bos_token_id"},
      {"eos_token_id", "eos_token_id"},
      {"pad_token_id", "padding_token_id"}};
  for (const auto& [hf_key, gguf_key] : kTokens) {
    const auto id = metadata.try_get<int64_t>(std::string("tokenizer.ggml.") + gguf_key);
    if (id) {
      config[hf_key] = *id;
    }
  }
  return config;
}

struct TensorRule {
  std::string gguf;
  std::string hf;
  std::vector<int64_t> shape;
  int64_t permuted_heads = 0;  // rows are stored interleaved within so many heads
};

std::vector<TensorRule> tensor_rules(const Architecture& architecture, const Dims& dims) {
  const int64_t q_rows = dims.heads * dims.head_dim;
  const int64_t kv_rows = dims.kv_heads * dims.head_dim;
  const int64_t q_permuted = architecture.interleaved_rope ? dims.heads : 0;
  const int64_t k_permuted = architecture.interleaved_rope ? dims.kv_heads : 0;
  const int64_t hidden = dims.hidden;
  const int64_t ffn = dims.intermediate;
  std::vector<TensorRule> rules = {
      {"token_embd.weight", "model.embed_tokens.weight", {dims.vocabulary, hidden}},
      {"output_norm.weight", "model.norm.weight", {hidden}}};
  if (!dims.tied) {
    rules.push_back({"output.weight", "lm_head.weight", {dims.vocabulary, hidden}});
  }
  for (int64_t layer = 0; layer < dims.layers; ++layer) {
    const auto add = [&](const char* gguf,
                         const char* hf,
                         std::vector<int64_t> shape,
                         int64_t permuted_heads = 0) {
      rules.push_back(
          {fmt::format("blk.{}.{}.weight", layer, gguf),
           fmt::format("model.layers.{}.{}.weight", layer, hf),
           std::move(shape),
           permuted_heads});
    };
    add("attn_norm", "input_layernorm", {hidden});
    add("attn_q", "self_attn.q_proj", {q_rows, hidden}, q_permuted);
    add("attn_k", "self_attn.k_proj", {kv_rows, hidden}, k_permuted);
    add("attn_v", "self_attn.v_proj", {kv_rows, hidden});
    add("attn_output", "self_attn.o_proj", {hidden, q_rows});
    if (architecture.qk_norm) {
      add("attn_q_norm", "self_attn.q_norm", {dims.head_dim});
      add("attn_k_norm", "self_attn.k_norm", {dims.head_dim});
    }
    add("ffn_norm", "post_attention_layernorm", {hidden});
    add("ffn_gate", "mlp.gate_proj", {ffn, hidden});
    add("ffn_up", "mlp.up_proj", {ffn, hidden});
    add("ffn_down", "mlp.down_proj", {hidden, ffn});
  }
  return rules;
}

void check_tensors(const GgufFile& file, const std::vector<TensorRule>& rules) {
  std::set<std::string> expected;
  for (const TensorRule& rule : rules) {
    expected.insert(rule.gguf);
    if (!file.contains(rule.gguf)) {
      fail<FormatError>("{}: tensor \"{}\" is missing", file.path().string(), rule.gguf);
    }
    const std::vector<int64_t>& shape = file.info(rule.gguf).shape;
    if (shape != rule.shape) {
      fail<FormatError>(
          "{}: tensor \"{}\": expected shape [{}], got [{}]",
          file.path().string(),
          rule.gguf,
          fmt::join(rule.shape, ", "),
          fmt::join(shape, ", "));
    }
  }
  for (const std::string& name : file.names()) {
    if (!expected.contains(name)) {
      fail<FormatError>(
          "{}: tensor \"{}\" has no place in this architecture's Hugging Face model",
          file.path().string(),
          name);
    }
  }
}

// Row 2 i + h of a head moves to row h * head_dim / 2 + i.
at::Tensor halves_from_pairs(const at::Tensor& rows, int64_t heads) {
  const int64_t half = rows.size(0) / heads / 2;
  return rows.view({heads, half, 2, rows.size(1)}).transpose(1, 2).reshape(rows.sizes());
}

GgufTokenizer read_tokenizer(const Metadata& metadata, int64_t vocabulary) {
  using Texts = std::vector<std::string>;
  const std::string prefix = "tokenizer.ggml.";
  GgufTokenizer tokenizer{
      .model = metadata.get<std::string>(prefix + "model", ""),
      .pre = metadata.get<std::string>(prefix + "pre", ""),
      .tokens = metadata.get<Texts>(prefix + "tokens", {}),
      .token_types = metadata.get<std::vector<int64_t>>(prefix + "token_type", {}),
      .merges = metadata.get<Texts>(prefix + "merges", {}),
      .bos_id = metadata.try_get<int64_t>(prefix + "bos_token_id"),
      .eos_id = metadata.try_get<int64_t>(prefix + "eos_token_id"),
      .unknown_id = metadata.try_get<int64_t>(prefix + "unknown_token_id"),
      .padding_id = metadata.try_get<int64_t>(prefix + "padding_token_id"),
      .add_bos = metadata.try_get<bool>(prefix + "add_bos_token"),
      .add_eos = metadata.try_get<bool>(prefix + "add_eos_token"),
      .add_space_prefix = metadata.try_get<bool>(prefix + "add_space_prefix"),
      .chat_template = metadata.get<std::string>("tokenizer.chat_template", "")};
  const auto tokens = static_cast<int64_t>(tokenizer.tokens.size());
  if (tokens > vocabulary) {
    fail<FormatError>(
        "{}: {}tokens: {} tokens, but token_embd.weight has {} rows",
        metadata.path(),
        prefix,
        tokens,
        vocabulary);
  }
  if (!tokenizer.token_types.empty() &&
      tokenizer.token_types.size() != tokenizer.tokens.size()) {
    fail<FormatError>(
        "{}: {}token_type: expected {} entries as in {}tokens, got {}",
        metadata.path(),
        prefix,
        tokens,
        prefix,
        tokenizer.token_types.size());
  }
  return tokenizer;
}

}  // namespace

GgufModel open_gguf_model(const fs::path& path, at::ScalarType dtype) {
  const auto file = std::make_shared<const GgufFile>(path);
  const Metadata metadata(*file);
  const Architecture& architecture = architecture_of(metadata);
  const std::string prefix = std::string(architecture.name) + ".";
  if (!file->contains("token_embd.weight")) {
    fail<FormatError>("{}: tensor \"token_embd.weight\" is missing", path.string());
  }
  const Dims dims = read_dims(*file, metadata, prefix);
  refuse_unsupported(metadata, prefix, dims);
  const std::vector<TensorRule> rules = tensor_rules(architecture, dims);
  check_tensors(*file, rules);

  GgufModel model;
  model.config = make_config(metadata, architecture, dims, dtype);
  model.tokenizer = read_tokenizer(metadata, dims.vocabulary);
  for (const TensorRule& rule : rules) {
    model.tensors.push_back(
        {{rule.hf, dtype, rule.shape},
         [file, dtype, name = rule.gguf, heads = rule.permuted_heads] {
           const at::Tensor values = file->tensor(name, dtype);
           return heads == 0 ? values : halves_from_pairs(values, heads);
         }});
  }
  return model;
}

}  // namespace titan::checkpoint
