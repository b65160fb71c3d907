#include <gtest/gtest.h>

#include "titan/models/common/causal_lm.h"
#include "titan/models/common/parity.h"
#include "titan/models/qwen3/config.h"

namespace titan::models {
namespace {

const std::string kFixture = TITAN_SOURCE_DIR "/titan/models/qwen3/testdata";

TEST(Qwen3, LogitsLossAndGradientsEqualTheReference) {
  expect_logits_loss_and_gradients(kFixture, {});
}

TEST(Qwen3, PackedDocumentsHaveTheBitsOfEachAlone) {
  expect_packed_equals_alone(kFixture);
}

TEST(Qwen3, GreedyContinuationEqualsTheReference) {
  expect_greedy_continuation(kFixture, {});
}

TEST(Qwen3, BothFormsOfConfigMeanTheSame) {
  expect_release_config_agrees(kFixture);
}

TEST(Qwen3, LoadAndExportKeepEveryByte) {
  expect_lossless_round_trip(kFixture);
}

int64_t parameters(const std::string& size) {
  return CausalLm(qwen3_size(size), {}).parameters().num_parameters();
}

TEST(Qwen3, PublishedSizesHaveThePublishedCounts) {
  EXPECT_EQ(parameters("0.6B"), 596049920);
  EXPECT_EQ(parameters("1.7B"), 1720574976);
  EXPECT_EQ(parameters("4B"), 4022468096);
  EXPECT_EQ(parameters("8B"), 8190735360);
  EXPECT_EQ(parameters("14B"), 14768307200);
  EXPECT_EQ(parameters("32B"), 32762123264);
}

}  // namespace
}  // namespace titan::models
