#include <gtest/gtest.h>

#include "titan/models/common/causal_lm.h"
#include "titan/models/common/parity.h"
#include "titan/models/llama3/config.h"

namespace titan::models {
namespace {

const std::string kFixture = TITAN_SOURCE_DIR "/titan/models/llama3/testdata";

TEST(Llama3, LogitsLossAndGradientsEqualTheReference) {
  expect_logits_loss_and_gradients(kFixture, {});
}

TEST(Llama3, PackedDocumentsHaveTheBitsOfEachAlone) {
  expect_packed_equals_alone(kFixture);
}

TEST(Llama3, GreedyContinuationEqualsTheReference) {
  expect_greedy_continuation(kFixture, {});
}

TEST(Llama3, BothFormsOfConfigMeanTheSame) {
  expect_release_config_agrees(kFixture);
}

TEST(Llama3, LoadAndExportKeepEveryByte) {
  expect_lossless_round_trip(kFixture);
}

int64_t parameters(const std::string& size) {
  return CausalLm(llama3_size(size), {}).parameters().num_parameters();
}

TEST(Llama3, PublishedSizesHaveThePublishedCounts) {
  EXPECT_EQ(parameters("1B"), 1235814400);
  EXPECT_EQ(parameters("3B"), 3212749824);
  EXPECT_EQ(parameters("8B"), 8030261248);
  EXPECT_EQ(parameters("70B"), 70553706496);
  EXPECT_EQ(parameters("405B"), 405853388800);
}

}  // namespace
}  // namespace titan::models
