#include "titan/checkpoint/gguf_import.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/hf_folder.h"
#include "titan/checkpoint/test_files.h"
#include "titan/checkpoint/test_gguf_writer.h"

namespace titan::checkpoint {
namespace {

using Writer = TestGgufWriter;

constexpr int64_t kHidden = 16;
constexpr int64_t kHeads = 4;
constexpr int64_t kKvHeads = 2;
constexpr int64_t kHeadDim = 4;
constexpr int64_t kVocabulary = 3;

std::string data_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

void add_matrix(Writer& writer, const std::string& name, const at::Tensor& values) {
  std::vector<uint64_t> dims;
  for (int64_t dim = values.dim() - 1; dim >= 0; --dim) {
    dims.push_back(static_cast<uint64_t>(values.size(dim)));
  }
  writer.add_tensor(name, dims, 0, data_of(values));
}

// How llama.cpp stores q and k: within each head, row i of the first half and row i of
// the second half become neighbours.
at::Tensor interleaved(const at::Tensor& rows, int64_t heads) {
  at::Tensor result = at::empty_like(rows);
  const int64_t head_dim = rows.size(0) / heads;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t i = 0; i < head_dim; ++i) {
      const int64_t stored = 2 * (i % (head_dim / 2)) + i / (head_dim / 2);
      result[head * head_dim + stored].copy_(rows[head * head_dim + i]);
    }
  }
  return result;
}

at::Tensor counted(std::vector<int64_t> shape) {
  int64_t values = 1;
  for (const int64_t dim : shape) {
    values *= dim;
  }
  return at::arange(values, at::kFloat).view(shape);
}

void add_metadata(Writer& writer, const std::string& architecture) {
  const std::string prefix = architecture + ".";
  writer.add_text("general.architecture", architecture);
  writer.add_u32(prefix + "block_count", 1);
  writer.add_u32(prefix + "context_length", 64);
  writer.add_u32(prefix + "embedding_length", kHidden);
  writer.add_u32(prefix + "feed_forward_length", 8);
  writer.add_u32(prefix + "attention.head_count", kHeads);
  writer.add_u32(prefix + "attention.head_count_kv", kKvHeads);
  writer.add_f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add_f32(prefix + "rope.freq_base", 1e6F);
  writer.add_text("tokenizer.ggml.model", "gpt2");
  writer.add_text("tokenizer.ggml.pre", "smollm");
  writer.add(
      "tokenizer.ggml.tokens",
      9,
      Writer::array(8, {Writer::text("a"), Writer::text("b"), Writer::text("ab")}));
  writer.add(
      "tokenizer.ggml.token_type",
      9,
      Writer::array(
          5,
          {Writer::raw<int32_t>(1), Writer::raw<int32_t>(1), Writer::raw<int32_t>(3)}));
  writer.add("tokenizer.ggml.merges", 9, Writer::array(8, {Writer::text("a b")}));
  writer.add_u32("tokenizer.ggml.bos_token_id", 1);
  writer.add_u32("tokenizer.ggml.eos_token_id", 2);
  writer.add_u32("tokenizer.ggml.padding_token_id", 0);
  writer.add_text("tokenizer.chat_template", "{{ messages }}");
}

void add_tensors(Writer& writer, bool is_llama) {
  const at::Tensor q = counted({kHeads * kHeadDim, kHidden});
  const at::Tensor k = counted({kKvHeads * kHeadDim, kHidden});
  add_matrix(writer, "token_embd.weight", counted({kVocabulary, kHidden}));
  add_matrix(writer, "output_norm.weight", counted({kHidden}));
  add_matrix(writer, "blk.0.attn_norm.weight", at::full({kHidden}, 0.5F));
  add_matrix(writer, "blk.0.attn_q.weight", is_llama ? interleaved(q, kHeads) : q);
  add_matrix(writer, "blk.0.attn_k.weight", is_llama ? interleaved(k, kKvHeads) : k);
  add_matrix(writer, "blk.0.attn_v.weight", counted({kKvHeads * kHeadDim, kHidden}));
  add_matrix(writer, "blk.0.attn_output.weight", counted({kHidden, kHeads * kHeadDim}));
  add_matrix(writer, "blk.0.ffn_norm.weight", at::full({kHidden}, 2.0F));
  add_matrix(writer, "blk.0.ffn_gate.weight", counted({8, kHidden}));
  add_matrix(writer, "blk.0.ffn_up.weight", counted({8, kHidden}));
  add_matrix(writer, "blk.0.ffn_down.weight", counted({kHidden, 8}));
}

Writer llama_file() {
  Writer writer;
  add_metadata(writer, "llama");
  add_tensors(writer, true);
  return writer;
}

GgufModel open_model(const Writer& writer, at::ScalarType dtype = at::kFloat) {
  const fs::path path = scratch_folder() / "x.gguf";
  write_bytes(path, writer.bytes());
  return open_gguf_model(path, dtype);
}

template <class Kind>
std::string refusal(const Writer& writer) {
  const std::string message = message_of<Kind>([&] { (void)open_model(writer); });
  return message.substr(message.find("x.gguf: ") + 8);
}

at::Tensor load(const GgufModel& model, const std::string& name) {
  for (const TensorSource& source : model.tensors) {
    if (source.spec.name == name) {
      return source.load();
    }
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

TEST(GgufImport, ConfigOfALlamaModel) {
  EXPECT_EQ(
      open_model(llama_file(), at::kBFloat16).config.dump(),
      R"({"architectures":["LlamaForCausalLM"],"attention_bias":false,"head_dim":4,)"
      R"("hidden_act":"silu","hidden_size":16,"intermediate_size":8,)"
      R"("max_position_embeddings":64,"mlp_bias":false,"model_type":"llama",)"
      R"("num_attention_heads":4,"num_hidden_layers":1,"num_key_value_heads":2,)"
      R"("rms_norm_eps":1e-05,"rope_theta":1000000.0,"tie_word_embeddings":true,)"
      R"("torch_dtype":"bfloat16","vocab_size":3,"bos_token_id":1,)"
      R"("eos_token_id":2,"pad_token_id":0})");
}

TEST(GgufImport, TokenizerMetadataComesAsStored) {
  const GgufTokenizer tokenizer = open_model(llama_file()).tokenizer;
  EXPECT_EQ(tokenizer.model, "gpt2");
  EXPECT_EQ(tokenizer.pre, "smollm");
  EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"a", "b", "ab"}));
  EXPECT_EQ(tokenizer.token_types, (std::vector<int64_t>{1, 1, 3}));
  EXPECT_EQ(tokenizer.merges, (std::vector<std::string>{"a b"}));
  EXPECT_EQ(tokenizer.bos_id, 1);
  EXPECT_EQ(tokenizer.eos_id, 2);
  EXPECT_EQ(tokenizer.unknown_id, std::nullopt);
  EXPECT_EQ(tokenizer.add_bos, std::nullopt);
  EXPECT_EQ(tokenizer.chat_template, "{{ messages }}");
}

TEST(GgufImport, S15RowsOfQAndKReturnToHalvesAndNormsAreNotSwapped) {
  const GgufModel model = open_model(llama_file());
  const std::string layer = "model.layers.0.";
  EXPECT_TRUE(load(model, layer + "self_attn.q_proj.weight")
                  .equal(counted({kHeads * kHeadDim, kHidden})));
  EXPECT_TRUE(load(model, layer + "self_attn.k_proj.weight")
                  .equal(counted({kKvHeads * kHeadDim, kHidden})));
  EXPECT_TRUE(load(model, layer + "self_attn.v_proj.weight")
                  .equal(counted({kKvHeads * kHeadDim, kHidden})));
  EXPECT_TRUE(load(model, layer + "input_layernorm.weight").eq(0.5).all().item<bool>());
  EXPECT_TRUE(
      load(model, layer + "post_attention_layernorm.weight").eq(2.0).all().item<bool>());
}

TEST(GgufImport, Qwen3IsNotPermutedAndHasHeadNorms) {
  Writer writer;
  add_metadata(writer, "qwen3");
  add_tensors(writer, false);
  add_matrix(writer, "blk.0.attn_q_norm.weight", counted({kHeadDim}));
  add_matrix(writer, "blk.0.attn_k_norm.weight", counted({kHeadDim}));
  add_matrix(writer, "output.weight", counted({kVocabulary, kHidden}));
  const GgufModel model = open_model(writer);
  EXPECT_EQ(model.config["architectures"][0], "Qwen3ForCausalLM");
  EXPECT_EQ(model.config["model_type"], "qwen3");
  EXPECT_EQ(model.config["tie_word_embeddings"], false);
  EXPECT_TRUE(load(model, "model.layers.0.self_attn.q_proj.weight")
                  .equal(counted({kHeads * kHeadDim, kHidden})));
  EXPECT_TRUE(
      load(model, "model.layers.0.self_attn.k_norm.weight").equal(counted({kHeadDim})));
  EXPECT_TRUE(load(model, "lm_head.weight").equal(counted({kVocabulary, kHidden})));
}

TEST(GgufImport, GivesAHuggingFaceFolder) {
  GgufModel model = open_model(llama_file(), at::kBFloat16);
  HfExport content;
  content.config = model.config;
  content.tensors = model.tensors;
  const fs::path folder = scratch_folder() / "out";
  save_hf_folder(folder, content);
  const HfFolder saved(folder);
  EXPECT_EQ(saved.names().size(), 11U);
  EXPECT_TRUE(
      saved.tensor("model.norm.weight").equal(counted({kHidden}).to(at::kBFloat16)));
}

TEST(GgufImportRefusal, WhatIsMissingOrForeignIsNamed) {
  Writer other;
  other.add_text("general.architecture", "mamba");
  EXPECT_EQ(
      refusal<InputError>(other),
      "general.architecture: expected llama or qwen3, got \"mamba\"");
  EXPECT_EQ(
      refusal<FormatError>(Writer()), "general.architecture: missing, expected a string");
  Writer empty;
  add_metadata(empty, "llama");
  EXPECT_EQ(refusal<FormatError>(empty), "tensor \"token_embd.weight\" is missing");
  add_matrix(empty, "token_embd.weight", counted({kVocabulary, kHidden}));
  EXPECT_EQ(refusal<FormatError>(empty), "tensor \"output_norm.weight\" is missing");
  Writer extra = llama_file();
  add_matrix(extra, "rope_freqs.weight", counted({2}));
  EXPECT_EQ(
      refusal<FormatError>(extra),
      "tensor \"rope_freqs.weight\" has no place in this architecture's Hugging Face "
      "model");
  Writer shape;
  add_metadata(shape, "llama");
  add_matrix(shape, "token_embd.weight", counted({kVocabulary, kHidden}));
  add_matrix(shape, "output_norm.weight", counted({kHidden + 1}));
  EXPECT_EQ(
      refusal<FormatError>(shape),
      "tensor \"output_norm.weight\": expected shape [16], got [17]");
}

TEST(GgufImportRefusal, MetadataThatTheModelCannotHave) {
  Writer scaled = llama_file();
  scaled.add_text("llama.rope.scaling.type", "linear");
  EXPECT_EQ(
      refusal<InputError>(scaled),
      "llama.rope.scaling.type: expected none, got \"linear\"");
  Writer experts = llama_file();
  experts.add_u32("llama.expert_count", 8);
  EXPECT_EQ(refusal<InputError>(experts), "llama.expert_count: expected 0, got 8");
  Writer zero;
  zero.add_text("general.architecture", "llama");
  zero.add_u32("llama.block_count", 0);
  add_matrix(zero, "token_embd.weight", counted({kVocabulary, kHidden}));
  EXPECT_EQ(
      refusal<FormatError>(zero), "llama.block_count: expected a positive count, got 0");
}

TEST(GgufImportRefusal, ATokenizerLargerThanTheEmbedding) {
  Writer writer;
  add_metadata(writer, "llama");
  add_tensors(writer, true);
  std::string bytes = writer.bytes();
  // Same length, other count: the embedding keeps its first two rows.
  const size_t name = bytes.find("token_embd.weight");
  const uint64_t rows = 2;
  std::memcpy(bytes.data() + name + 17 + 4 + 8, &rows, sizeof rows);
  const fs::path path = scratch_folder() / "x.gguf";
  write_bytes(path, bytes);
  EXPECT_EQ(
      message_of<FormatError>([&] { (void)open_gguf_model(path, at::kFloat); }),
      path.string() +
          ": tokenizer.ggml.tokens: 3 tokens, but token_embd.weight has 2 rows");
}

}  // namespace
}  // namespace titan::checkpoint
