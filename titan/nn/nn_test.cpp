#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/nn/decoder.h"
#include "titan/nn/override.h"
#include "titan/nn/rotary.h"

namespace titan::nn {
namespace {

// Counts declarations; gives no storage.
class SpecSink final : public ParameterSink {
 public:
  ops::Weight declare(int block, const ParameterSpec& spec) override {
    blocks.push_back(block);
    specs.push_back(spec);
    return {.stub = at::zeros({1}).expand(spec.shape), .handle = {}};
  }

  std::vector<int> blocks;
  std::vector<ParameterSpec> specs;
};

DecoderBlock::Config small() {
  return {
      .attention = {.dim = 8, .num_heads = 2, .num_kv_heads = 1, .head_dim = 4},
      .feed_forward = {.dim = 8, .hidden = 16}};
}

TEST(Scope, AssemblyRecordsParametersBlocksAndNodes) {
  SpecSink sink;
  Assembly assembly(sink);
  const Scope root(assembly);
  const EmbeddingBlock embedding(root.block("embed"), 10, 8, Init::normal(1));
  const DecoderBlock layer(root.block("layers.0"), small());
  const HeadBlock head(root.block("head"), {.dim = 8, .vocab = 10}, &embedding.weight());

  ASSERT_EQ(assembly.blocks.size(), 3U);
  EXPECT_EQ(assembly.blocks[1].name, "layers.0");
  EXPECT_EQ(assembly.blocks[1].weights.size(), 9U);
  EXPECT_EQ(assembly.blocks[2].weights.size(), 2U) << "its norm and the shared embedding";
  EXPECT_EQ(sink.specs.size(), 11U) << "the tied head declares nothing";
  EXPECT_EQ(sink.specs[2].name, "layers.0.attention.wq.weight");
  EXPECT_EQ(sink.specs[2].shape, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(sink.specs[3].shape, (std::vector<int64_t>{4, 8})) << "one key head of 4";
  ASSERT_EQ(assembly.nodes.size(), 2U);
  EXPECT_EQ(assembly.nodes[0].path, "layers.0.attention");
  EXPECT_EQ(assembly.nodes[1].kind, "feed_forward");
}

class Doubling final : public FeedForward {
 public:
  Tensor forward(const Tensor& x, BlockContext&) override { return x + x; }
};

const RegisterOverride<FeedForward> kDoubling(
    "test_doubling", "x + x", [](const Scope&, const FeedForwardConfig&) {
      return std::make_unique<Doubling>();
    });

const RegisterOverride<Attention> kAttention(
    "test_attention",
    "the standard one under another name",
    make_grouped_query_attention);

const std::vector<NodeInfo> kNodes = {
    {"layers.0.attention", "attention"},
    {"layers.0.ffn", "feed_forward"},
    {"layers.1.ffn", "feed_forward"},
    {"layers.1.ffn.inner", "feed_forward"}};

std::string refusal(const std::vector<std::string>& claims) {
  try {
    (void)resolve_overrides(claims, kNodes);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Override, ReplacesTheClaimedNodesOnly) {
  const OverrideMap map = resolve_overrides({"layers.0.ffn=test_doubling"}, kNodes);
  ASSERT_EQ(map.size(), 1U);
  EXPECT_EQ(map[0].first, "layers.0.ffn");
  SpecSink sink;
  Assembly assembly(sink, map);
  const DecoderBlock replaced(Scope(assembly).block("layers.0"), small());
  const DecoderBlock standard(Scope(assembly).block("layers.1"), small());
  EXPECT_EQ(assembly.blocks[0].weights.size(), 6U) << "the replacement has no parameters";
  EXPECT_EQ(assembly.blocks[1].weights.size(), 9U);
}

TEST(Override, GlobsTakeOnlyNodesOfTheirKind) {
  const OverrideMap map = resolve_overrides({"layers.0.*=test_doubling"}, kNodes);
  ASSERT_EQ(map.size(), 1U);
  EXPECT_EQ(map[0].first, "layers.0.ffn");
}

TEST(Override, ConflictsAreErrors) {
  EXPECT_EQ(
      refusal({"layers.0.ffn=test_doubling", "layers.0.*=test_doubling"}),
      "overrides: layers.0.ffn=test_doubling and layers.0.*=test_doubling both claim "
      "layers.0.ffn");
  EXPECT_EQ(
      refusal({"layers.1.ffn=test_doubling", "layers.1.ffn.inner=test_doubling"}),
      "overrides: layers.1.ffn.inner=test_doubling claims layers.1.ffn.inner, which is "
      "inside "
      "layers.1.ffn claimed by layers.1.ffn=test_doubling");
}

TEST(Override, EveryProblemIsReported) {
  const std::string message = refusal(
      {"layers.0.ffn",
       "layers.9.ffn=test_doubling",
       "layers.0.ffn=test_attention",
       "*=nothing"});
  EXPECT_EQ(
      message,
      "overrides: expected glob=name, got \"layers.0.ffn\"\n"
      "overrides: layers.9.ffn=test_doubling: no node matches \"layers.9.ffn\"; nearest: "
      "layers.0.ffn\n"
      "overrides: layers.0.ffn=test_attention: \"test_attention\" replaces attention "
      "nodes, but "
      "\"layers.0.ffn\" matches none of that kind\n"
      "overrides: *=nothing: no override called \"nothing\"; registered: test_attention, "
      "test_doubling");
}

TEST(Rotary, DefaultFrequenciesAndAngles) {
  const RotaryTable table({.theta = 10000}, 8);
  EXPECT_FLOAT_EQ(table.frequencies()[0], 1.0F);
  EXPECT_FLOAT_EQ(table.frequencies()[3], 1e-3F);
  const Rotary rotary = table.at(at::tensor({0, 5}, at::kLong));
  EXPECT_EQ(rotary.cosine.sizes(), (at::IntArrayRef{2, 4}));
  EXPECT_FLOAT_EQ(rotary.cosine[1][0].item<float>(), std::cos(5.0F));
  EXPECT_FLOAT_EQ(rotary.sine[1][1].item<float>(), std::sin(0.5F));
  EXPECT_EQ(rotary.sine[0][2].item<float>(), 0.0F);
}

TEST(Rotary, Llama3ScalingKeepsShortAndDividesLongWavelengths) {
  const RotaryConfig config{
      .theta = 500000,
      .scaling = RotaryScaling::kLlama3,
      .factor = 8,
      .original_context = 8192};
  const RotaryTable scaled(config, 128);
  const RotaryTable plain({.theta = 500000}, 128);
  EXPECT_EQ(scaled.frequencies()[0], plain.frequencies()[0]);
  EXPECT_FLOAT_EQ(scaled.frequencies()[63], plain.frequencies()[63] / 8);
  int blended = 0;
  for (size_t i = 0; i < 64; ++i) {
    const float ratio = scaled.frequencies()[i] / plain.frequencies()[i];
    EXPECT_LE(ratio, 1.0F);
    EXPECT_GE(ratio, 0.124F);
    blended += ratio > 0.126F && ratio < 0.999F ? 1 : 0;
  }
  EXPECT_GT(blended, 3);
}

TEST(Rotary, YarnBlendsByDimensionAndScalesByItsFactor) {
  const RotaryConfig config{
      .theta = 10000,
      .scaling = RotaryScaling::kYarn,
      .factor = 4,
      .original_context = 4096};
  const RotaryTable scaled(config, 64);
  const RotaryTable plain({.theta = 10000}, 64);
  EXPECT_EQ(scaled.frequencies()[0], plain.frequencies()[0]);
  EXPECT_FLOAT_EQ(scaled.frequencies()[31], plain.frequencies()[31] / 4);
  const Rotary rotary = scaled.at(at::tensor({0}, at::kLong));
  EXPECT_FLOAT_EQ(rotary.cosine[0][0].item<float>(), 0.1F * std::log(4.0F) + 1.0F);
}

}  // namespace
}  // namespace titan::nn
