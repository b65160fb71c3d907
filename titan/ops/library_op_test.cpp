#include "titan/ops/library_op.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

// relu(x W^T) and the sum of x, from tokens' rows scaled by an integer tensor.
std::vector<Tensor> two_results(
    const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
  const Tensor scaled = inputs[0] * inputs[1].unsqueeze(1);
  return {at::relu(at::linear(scaled, weights[0])), scaled.sum()};
}

struct Work {
  Tensor x = test_tensor({5, 4}, at::kFloat, 1);
  Tensor factors = at::arange(1, 6, at::kLong);
  Tensor w = test_tensor({3, 4}, at::kFloat, 1);
  Tensor dy = test_tensor({5, 3}, at::kFloat, 1);

  // x and w by autograd alone.
  [[nodiscard]] std::vector<Tensor> expected() const {
    const Tensor a = x.detach().requires_grad_(true);
    const Tensor b = w.detach().requires_grad_(true);
    const auto y = two_results({a, factors}, {b});
    return torch::autograd::grad(y, {a, b}, {dy, at::ones({})});
  }
};

TEST(LibraryOp, GivesTheGradientsOfAutogradBitForBit) {
  const Work work;
  TestWeights source;
  const Weight weight = source.add(work.w);
  OpContext context;
  const Tensor x = work.x.detach().requires_grad_(true);
  const auto y = library_op(two_results, {x, work.factors}, {weight}, context, "op");
  const auto dx = torch::autograd::grad(
      y, {x, weight.stub}, {work.dy, at::ones({})}, {}, false, true);
  const auto expected = work.expected();
  EXPECT_TRUE(same_bits(dx[0], expected[0]));
  EXPECT_FALSE(dx[1].defined());
  EXPECT_TRUE(same_bits(source.grad(weight), expected[1]));
}

TEST(LibraryOp, AnUnusedResultCountsAsNothing) {
  const Work work;
  TestWeights source;
  const Weight weight = source.add(work.w);
  OpContext context;
  const Tensor x = work.x.detach().requires_grad_(true);
  const auto y = library_op(two_results, {x, work.factors}, {weight}, context, "op");
  const auto dx = torch::autograd::grad({y[1]}, {x, weight.stub}, {}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], work.factors.unsqueeze(1).expand({5, 4}).to(at::kFloat)));
  EXPECT_FALSE(source.grad(weight).defined());
}

TEST(LibraryOp, DefersWeightGradients) {
  const Work work;
  TestWeights source;
  const Weight weight = source.add(work.w);
  WgradQueue queue;
  OpContext context;
  const Tensor x = work.x.detach().requires_grad_(true);
  const auto y = library_op(two_results, {x, work.factors}, {weight}, context, "op");
  context.defer = &queue;
  const auto dx = torch::autograd::grad(
      y, {x, weight.stub}, {work.dy, at::ones({})}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], work.expected()[0]));
  EXPECT_FALSE(source.grad(weight).defined());
  ASSERT_EQ(queue.size(), 1);
  queue.run();
  EXPECT_TRUE(same_bits(source.grad(weight), work.expected()[1]));
}

TEST(LibraryOp, IsGivenItsResultsInAReplay) {
  const Work work;
  TestWeights source;
  const Weight weight = source.add(work.w);
  int calls = 0;
  const auto counted = [&](const auto& inputs, const auto& weights) {
    ++calls;
    return two_results(inputs, weights);
  };
  RematFrame frame({"op"});
  OpContext context{.remat = &frame};
  frame.set_phase(RematFrame::Phase::kRecord);
  const auto first = library_op(counted, {work.x, work.factors}, {weight}, context, "op");
  frame.set_phase(RematFrame::Phase::kReplay);
  const Tensor x = work.x.detach().requires_grad_(true);
  const auto again = library_op(counted, {x, work.factors}, {weight}, context, "op");
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(same_bits(again[0].detach(), first[0].detach()));
  const auto dx = torch::autograd::grad(again, {x}, {work.dy, at::ones({})});
  EXPECT_TRUE(same_bits(dx[0], work.expected()[0]));
}

TEST(LibraryOp, AFrozenWeightGetsNoGradient) {
  const Work work;
  TestWeights source;
  const Weight weight = source.add(work.w, /*trained=*/false);
  OpContext context;
  const Tensor x = work.x.detach().requires_grad_(true);
  const auto y = library_op(two_results, {x, work.factors}, {weight}, context, "op");
  torch::autograd::grad(y, {x}, {work.dy, at::ones({})});
  EXPECT_FALSE(source.grad(weight).defined());
}

}  // namespace
}  // namespace titan::ops
