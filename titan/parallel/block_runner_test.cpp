#include "titan/parallel/block_runner.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/nn/decoder.h"
#include "titan/nn/rotary.h"
#include "titan/parallel/parameter_store.h"

namespace titan::parallel {
namespace {

constexpr int64_t kDim = 64;
constexpr int64_t kTokens = 48;

// Two decoder blocks with their own store, and a pack of two documents.
struct Fixture {
  ParameterStore store;
  std::vector<std::unique_ptr<nn::Block>> blocks;
  std::vector<std::vector<ops::Weight>> weights;
  std::shared_ptr<nn::StepContext> step = std::make_shared<nn::StepContext>();
  Tensor x;
  Tensor dy;

  explicit Fixture(at::ScalarType dtype) : store(dtype) {
    nn::Assembly assembly(store);
    const nn::Init init = nn::Init::normal(0.1);
    for (int i = 0; i < 2; ++i) {
      blocks.push_back(std::make_unique<nn::DecoderBlock>(
          nn::Scope(assembly).block("layers." + std::to_string(i)),
          nn::DecoderBlock::Config{
              .attention =
                  {.dim = kDim,
                   .num_heads = 4,
                   .num_kv_heads = 2,
                   .head_dim = 16,
                   .qk_norm = true,
                   .init = init,
                   .output_init = init},
              .feed_forward = {
                  .dim = kDim, .hidden = 96, .init = init, .output_init = init}}));
    }
    for (const auto& block : assembly.blocks) {
      weights.push_back(block.weights);
    }
    store.materialize();
    store.initialize(1);
    step->sequence = ops::SequenceContext::packed({30, 18});
    step->rotary = nn::RotaryTable({}, 16).at(step->sequence.positions());
    at::manual_seed(5);
    x = at::randn({kTokens, kDim}).to(dtype);
    dy = at::randn({kTokens, kDim}).to(dtype);
  }

  BlockRunner runner(int i, const RematConfig& remat) {
    nn::Block* block = blocks[static_cast<size_t>(i)].get();
    return {
        "layers." + std::to_string(i),
        weights[static_cast<size_t>(i)],
        [block](const Tensor& in, nn::BlockContext& context) {
          return block->forward(in, context);
        },
        remat};
  }

  std::vector<Tensor> gradients() {
    std::vector<Tensor> all;
    for (const auto& parameter : store.parameters()) {
      all.push_back(parameter.gradient().clone());
    }
    return all;
  }
};

struct Result {
  Tensor y;
  Tensor dx;
  std::vector<Tensor> gradients;
};

void expect_same_bits(const Result& a, const Result& b, const std::string& what) {
  EXPECT_TRUE(at::equal(a.y, b.y)) << what << ": y";
  EXPECT_TRUE(at::equal(a.dx, b.dx)) << what << ": dx";
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    EXPECT_TRUE(at::equal(a.gradients[i], b.gradients[i])) << what << ": gradient " << i;
  }
}

class BlockRunnerTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  // The blocks under plain autograd, without a runner.
  Result plain() {
    Fixture f(GetParam());
    const at::AutoGradMode record(true);
    Tensor x = f.x.detach().requires_grad_(true);
    ops::OpContext ops;
    nn::BlockContext context{*f.step, ops};
    Tensor y = f.blocks[1]->forward(f.blocks[0]->forward(x, context), context);
    torch::autograd::variable_list inputs = {x};
    for (const auto& weights : f.weights) {
      for (const ops::Weight& weight : weights) {
        inputs.push_back(weight.stub);
      }
    }
    const auto grads =
        torch::autograd::grad({y}, inputs, {f.dy}, std::nullopt, false, true);
    return {y.detach(), grads[0], f.gradients()};
  }

  Result wrapped(const RematConfig& remat) {
    Fixture f(GetParam());
    BlockRunner first = f.runner(0, remat);
    BlockRunner second = f.runner(1, remat);
    const at::AutoGradMode record(true);
    Tensor x = f.x.detach().requires_grad_(true);
    const Tensor y = second(first(x, f.step), f.step);
    const auto grads = torch::autograd::grad({y}, {x}, {f.dy});
    return {y.detach(), grads[0], f.gradients()};
  }

  Result halves(const RematConfig& remat, bool defer) {
    Fixture f(GetParam());
    BlockRunner first = f.runner(0, remat);
    BlockRunner second = f.runner(1, remat);
    ops::WgradQueue queue;
    const auto a = first.forward(f.x, f.step);
    const auto b = second.forward(BlockRunner::output(*a), f.step);
    const Tensor y = BlockRunner::output(*b);
    ops::WgradQueue* target = defer ? &queue : nullptr;
    const Tensor middle = second.backward(*b, f.dy, target);
    const Tensor dx = first.backward(*a, middle, target);
    EXPECT_EQ(queue.size(), defer ? 14U : 0U) << "seven linears a block";
    queue.run();
    return {y, dx, f.gradients()};
  }
};

TEST_P(BlockRunnerTest, EveryRematModeHasTheBitsOfPlainAutograd) {
  const Result expected = plain();
  expect_same_bits(expected, wrapped({.mode = RematMode::kNone}), "none");
  expect_same_bits(expected, wrapped({.mode = RematMode::kFull}), "full");
  expect_same_bits(expected, wrapped({}), "attention core");
  expect_same_bits(
      expected,
      wrapped({.save = {"attention.w?", "ffn.*"}}),
      "all products, core recomputed");
}

TEST_P(BlockRunnerTest, TheTwoHalvesEqualTheWrapper) {
  const Result expected = plain();
  expect_same_bits(expected, halves({}, false), "halves");
  expect_same_bits(expected, halves({}, true), "deferred");
  expect_same_bits(
      expected, halves({.mode = RematMode::kNone}, true), "deferred, no remat");
}

TEST_P(BlockRunnerTest, KeepsWhatIsNamedAndNothingElse) {
  Fixture f(GetParam());
  BlockRunner full = f.runner(0, {.mode = RematMode::kFull});
  BlockRunner core = f.runner(0, {});
  (void)full.forward(f.x, f.step);
  (void)core.forward(f.x, f.step);
  EXPECT_EQ(full.kept_bytes(), 0);
  const int64_t out = kTokens * 64 * static_cast<int64_t>(at::elementSize(GetParam()));
  const int64_t log_sum_exp = kTokens * 4 * static_cast<int64_t>(sizeof(float));
  EXPECT_EQ(core.kept_bytes(), out + log_sum_exp);
}

TEST_P(BlockRunnerTest, FrozenWeightsGetNoGradient) {
  Fixture f(GetParam());
  f.weights[0][1].stub.requires_grad_(false);
  BlockRunner runner = f.runner(0, {});
  const auto state = runner.forward(f.x, f.step);
  (void)runner.backward(*state, f.dy);
  const auto& parameters = f.store.parameters();
  EXPECT_EQ(parameters[1].gradient().abs().max().item<float>(), 0);
  EXPECT_GT(parameters[2].gradient().abs().max().item<float>(), 0);
}

TEST_P(BlockRunnerTest, WithoutGradModeNothingIsKept) {
  Fixture f(GetParam());
  BlockRunner runner = f.runner(0, {.mode = RematMode::kNone});
  const at::AutoGradMode no_record(false);
  EXPECT_FALSE(runner(f.x, f.step).requires_grad());
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, BlockRunnerTest, testing::Values(at::kFloat, at::kBFloat16));

// A weight gradient must not be lost when the block's input needs none.
TEST(BlockRunner, EmbeddingGetsItsGradientThroughTheAnchor) {
  ParameterStore store(at::kFloat);
  nn::Assembly assembly(store);
  nn::EmbeddingBlock block(nn::Scope(assembly).block("embed"), 5, 4, nn::Init::normal(1));
  store.materialize();
  store.initialize(0);
  BlockRunner runner(
      "embed",
      assembly.blocks[0].weights,
      [&](const Tensor& in, nn::BlockContext& context) {
        return block.forward(in, context);
      },
      {});
  const at::AutoGradMode record(true);
  const auto step = std::make_shared<nn::StepContext>();
  const Tensor y = runner(at::tensor({3, 1, 3}, at::kLong), step);
  torch::autograd::backward({y}, {at::ones({3, 4})});
  const Tensor gradient = store.find("embed.weight")->gradient();
  EXPECT_TRUE(at::equal(gradient.select(0, 3), at::full({4}, 2.0F)));
  EXPECT_TRUE(at::equal(gradient.select(0, 1), at::ones({4})));
  EXPECT_TRUE(at::equal(gradient.select(0, 0), at::zeros({4})));
}

// Library operations return their weight gradient; the runner hands it over.
TEST(BlockRunner, AcceptsBodiesOfLibraryOperations) {
  ParameterStore store(at::kFloat);
  const ops::Weight weight = store.declare(0, {"w", {3, 4}, nn::Init::normal(1)});
  store.materialize();
  store.initialize(2);
  // An affine use of the stub itself: its gradient is what dy leaves on it.
  BlockRunner runner(
      "plain",
      {weight},
      [&](const Tensor& in, nn::BlockContext&) { return in + weight.stub; },
      {.mode = RematMode::kNone});
  const auto state =
      runner.forward(at::zeros({3, 4}), std::make_shared<nn::StepContext>());
  const Tensor dy = at::arange(12, at::kFloat).view({3, 4});
  EXPECT_TRUE(at::equal(runner.backward(*state, dy), dy));
  EXPECT_TRUE(at::equal(store.find("w")->gradient(), dy));
}

}  // namespace
}  // namespace titan::parallel
