#include <functional>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/models/common/open.h"
#include "titan/models/common/weights.h"
#include "titan/models/llama3/config.h"
#include "titan/models/qwen3/config.h"

namespace titan::models {
namespace {

Llama3Config tiny(bool tied) {
  Llama3Config config = llama3_size("debug");
  config.dense.vocab = 12;
  config.dense.dim = 8;
  config.dense.layers = 2;
  config.dense.heads = 2;
  config.dense.kv_heads = 1;
  config.dense.head_dim = 4;
  config.dense.ffn_hidden = 16;
  config.dense.tied_embeddings = tied;
  return config;
}

std::unique_ptr<CausalLm> fresh(bool tied, uint64_t seed) {
  auto model = std::make_unique<CausalLm>(tiny(tied), CausalLmOptions{});
  model->parameters().materialize();
  model->parameters().initialize(seed);
  return model;
}

using Tensors = std::vector<checkpoint::TensorSource>;

Tensors without(Tensors tensors, const std::string& name) {
  std::erase_if(tensors, [&](const auto& source) { return source.spec.name == name; });
  return tensors;
}

Tensors with(Tensors tensors, const std::string& name, const at::Tensor& tensor) {
  tensors.push_back(checkpoint::tensor_source(name, tensor));
  return tensors;
}

std::string refusal(CausalLm& model, const Tensors& tensors) {
  try {
    load_weights(model, stored_tensors(tensors, "folder"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(WeightNames, AreABijectionForEverySizeOfEveryFamily) {
  for (const std::string& family_name : families().names()) {
    const Family& family = families().at(family_name);
    for (const Size& size : family.sizes) {
      const CausalLm model(size.config, {});
      std::set<std::string> native;
      std::set<std::string> theirs;
      for (const WeightName& name : family.weight_names(size.config)) {
        EXPECT_TRUE(native.insert(name.native).second) << name.native;
        EXPECT_TRUE(theirs.insert(name.hugging_face).second) << name.hugging_face;
        EXPECT_NE(model.parameters().find(name.native), nullptr) << name.native;
      }
      EXPECT_EQ(native.size(), model.parameters().parameters().size()) << size.name;
    }
  }
}

TEST(LoadWeights, RestoresEveryParameter) {
  const auto source = fresh(false, 1);
  const auto target = fresh(false, 2);
  EXPECT_EQ(refusal(*target, export_weights(*source, at::kFloat)), "");
  for (const auto& parameter : source->parameters().parameters()) {
    EXPECT_TRUE(at::equal(
        parameter.master(), target->parameters().find(parameter.name)->master()));
  }
}

TEST(LoadWeights, TiedEmbeddingsMayHaveEitherNameOrBoth) {
  const auto source = fresh(true, 1);
  const Tensors stored = export_weights(*source, at::kFloat);
  const std::string embedding = "model.embed_tokens.weight";
  const at::Tensor values = source->parameters().find("embed.weight")->master();
  const auto target = fresh(true, 2);
  EXPECT_EQ(refusal(*target, stored), "");
  EXPECT_EQ(
      refusal(*target, with(without(stored, embedding), "lm_head.weight", values)), "");
  EXPECT_TRUE(at::equal(target->parameters().find("embed.weight")->master(), values));
  EXPECT_EQ(refusal(*target, with(stored, "lm_head.weight", values)), "");
  EXPECT_EQ(
      refusal(*target, with(stored, "lm_head.weight", values + 1)),
      "folder: tie_word_embeddings is true, but model.embed_tokens.weight and "
      "lm_head.weight "
      "differ");
}

TEST(LoadWeights, MissingUnexpectedAndMisshapenTensorsAreRefused) {
  const auto source = fresh(false, 1);
  const Tensors stored = export_weights(*source, at::kFloat);
  EXPECT_EQ(
      refusal(*source, without(stored, "lm_head.weight")),
      "folder: no tensor called lm_head.weight");
  EXPECT_EQ(
      refusal(*source, with(stored, "model.layers.0.mlp.experts", at::ones({1}))),
      "folder: 1 tensors that the architecture does not have: "
      "model.layers.0.mlp.experts");
  EXPECT_EQ(
      refusal(
          *source,
          with(without(stored, "model.norm.weight"), "model.norm.weight", at::ones({4}))),
      "folder: model.norm.weight: expected shape [8], got [4]");
  EXPECT_EQ(
      refusal(
          *source,
          with(stored, "model.layers.0.self_attn.rotary_emb.inv_freq", at::ones({2}))),
      "")
      << "derived values of old exports";
}

TEST(ConfigFromHuggingFace, UnknownArchitecturesAndForeignSettingsAreRefused) {
  const auto message = [](const Json& hf) -> std::string {
    try {
      (void)config_from_hugging_face(hf, "config.json");
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      message({{"architectures", {"MambaForCausalLM"}}}),
      "config.json: architectures: expected one of LlamaForCausalLM, Qwen3ForCausalLM, "
      "got "
      "MambaForCausalLM");
  Json llama = families().at("llama3").to_hugging_face(tiny(false));
  llama["attention_bias"] = true;
  EXPECT_EQ(message(llama), "config.json: attention_bias: expected false, got true");
  llama["attention_bias"] = false;
  llama.erase("hidden_size");
  EXPECT_EQ(message(llama), "config.json: hidden_size: missing, expected an integer");
}

TEST(CausalLm, InvalidConfigsReportEveryProblem) {
  Llama3Config config = tiny(false);
  config.dense.kv_heads = 3;
  config.dense.head_dim = 5;
  try {
    const CausalLm model(config, {});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "kv_heads: expected a divisor of heads, got 3\n"
        "head_dim: expected even and > 0, got 5");
  }
}

TEST(OpenModel, SaysWhatItExpects) {
  try {
    (void)open_model(fs::path(testing::TempDir()) / "no_such_model", {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .ends_with("expected a model folder (config.json), a run folder, a "
                               "checkpoint or a .gguf file"))
        << error.what();
  }
}

}  // namespace
}  // namespace titan::models
