#include "titan/ops/linear.h"

#include <cstring>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/cpu/isa.h"
#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

struct Shape {
  int64_t t, k, n;
};

class LinearTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  Tensor random(at::IntArrayRef sizes, double scale = 1) const {
    return test_tensor(sizes, GetParam(), scale);
  }
};

// y, dX and dW of one call.
std::vector<Tensor> run(
    TestWeights& source, const Weight& weight, const Tensor& x, const Tensor& dy) {
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = linear(leaf, weight, context, "linear");
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  return {y.detach(), dx[0], source.grad(weight)};
}

TEST_P(LinearTest, ValueAndGradientsMatchTheOracle) {
  const Shape shapes[] = {
      {1, 1, 1},
      {5, 17, 33},
      {64, 48, 96},
      {33, 100, 65},
      {300, 576, 192},
      {257, 1536, 64},
      {2500, 40, 70},
      {40, 2100, 24},
      {3, 16, 4000}};
  for (const Shape& s : shapes) {
    SCOPED_TRACE(testing::Message() << "T " << s.t << " K " << s.k << " N " << s.n);
    const Tensor x = random({s.t, s.k});
    const Tensor w = random({s.n, s.k}, 0.1);
    const Tensor dy = random({s.t, s.n});
    TestWeights source;
    const std::vector<Tensor> ours = run(source, source.add(w), x, dy);
    ASSERT_EQ(ours[0].scalar_type(), GetParam());
    ASSERT_EQ(ours[1].scalar_type(), GetParam());
    ASSERT_EQ(ours[2].scalar_type(), at::kFloat);

    const Tensor wide_x = x.to(at::kDouble);
    const Tensor wide_w = w.to(at::kDouble);
    const Tensor wide_dy = dy.to(at::kDouble);
    EXPECT_TRUE(no_worse(ours[0], at::mm(x, w.t()), at::mm(wide_x, wide_w.t())));
    EXPECT_TRUE(no_worse(ours[1], at::mm(dy, w), at::mm(wide_dy, wide_w)));
    EXPECT_TRUE(no_worse(ours[2], at::mm(dy.t(), x), at::mm(wide_dy.t(), wide_x)));
  }
}

TEST_P(LinearTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  for (const Shape& s :
       {Shape{512, 17, 33}, {512, 48, 40}, {512, 576, 192}, {512, 2100, 65}}) {
    SCOPED_TRACE(testing::Message() << "K " << s.k << " N " << s.n);
    const Tensor x = random({s.t, s.k});
    TestWeights source;
    const Weight weight = source.add(random({s.n, s.k}));
    OpContext context;
    const ThreadCount one(1);
    const Tensor all = linear(x, weight, context, "linear");
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      for (const int64_t m : kRowCounts) {
        // The first rows, and rows from the middle on.
        const int64_t begin = (512 - m) / 2;
        EXPECT_TRUE(same_bits(
            linear(x.narrow(0, 0, m), weight, context, "linear"), all.narrow(0, 0, m)))
            << m << " rows, " << threads << " threads";
        EXPECT_TRUE(same_bits(
            linear(x.narrow(0, begin, m), weight, context, "linear"),
            all.narrow(0, begin, m)))
            << m << " rows from " << begin << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(LinearTest, GradientsDoNotDependOnThreads) {
  const Tensor x = random({2500, 100});
  const Tensor w = random({530, 100});
  const Tensor dy = random({2500, 530});
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3, 2}) {
    const ThreadCount count(threads);
    TestWeights source;
    const std::vector<Tensor> results = run(source, source.add(w), x, dy);
    if (first.empty()) {
      first = results;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(same_bits(results[i], first[i])) << threads << " threads, result " << i;
    }
  }
}

TEST_P(LinearTest, TheSecondUseOfAWeightIsAddedOncePerElement) {
  const Tensor x = random({2100, 48});
  const Tensor other = random({130, 48});
  const Tensor w = random({70, 48});
  const Tensor dy = random({2100, 70});
  const Tensor other_dy = random({130, 70});
  TestWeights twice;
  const Weight shared = twice.add(w);
  run(twice, shared, other, other_dy);
  run(twice, shared, x, dy);

  TestWeights first;
  TestWeights second;
  TestWeights sum;
  const Weight target = sum.add(w);
  sum.add_grad(0, run(first, first.add(w), other, other_dy)[2]);
  sum.add_grad(0, run(second, second.add(w), x, dy)[2]);
  EXPECT_TRUE(same_bits(twice.grad(shared), sum.grad(target)));
}

TEST_P(LinearTest, DeferralGivesTheSameBitsLater) {
  const Tensor x = random({70, 48});
  const Tensor w = random({33, 48});
  const Tensor dy = random({70, 33});
  TestWeights at_once;
  const std::vector<Tensor> expected = run(at_once, at_once.add(w), x, dy);

  TestWeights source;
  const Weight weight = source.add(w);
  OpContext context;
  WgradQueue queue;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = linear(leaf, weight, context, "linear");
  context.defer = &queue;  // after forward: looked up at backward
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], expected[1]));
  EXPECT_FALSE(source.grad(weight).defined());
  EXPECT_EQ(queue.size(), 1U);
  queue.run();
  EXPECT_TRUE(same_bits(source.grad(weight), expected[2]));
}

TEST_P(LinearTest, AReplayTakesTheRecordedResult) {
  const Tensor x = random({70, 48});
  const Tensor w = random({33, 48});
  const Tensor dy = random({70, 33});
  TestWeights plain;
  const std::vector<Tensor> expected = run(plain, plain.add(w), x, dy);

  TestWeights source;
  const Weight weight = source.add(w);
  RematFrame frame({"ffn.*"});
  OpContext context;
  context.remat = &frame;
  frame.set_phase(RematFrame::Phase::kRecord);
  Tensor recorded;
  {
    const at::NoGradGuard no_grad;
    recorded = linear(x, weight, context, "ffn.up");
    linear(x, weight, context, "attention.query");  // not selected
  }
  EXPECT_EQ(frame.held_bytes(), static_cast<int64_t>(recorded.nbytes()));
  // Marks the stored result, so that a recomputed one would show.
  recorded.fill_(1);
  frame.set_phase(RematFrame::Phase::kReplay);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = linear(leaf, weight, context, "ffn.up");
  EXPECT_TRUE(same_bits(y, at::ones_like(y)));
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], expected[1]));
  EXPECT_TRUE(same_bits(source.grad(weight), expected[2]));
}

TEST_P(LinearTest, OnlyWhatIsTrainedGetsAGradient) {
  const Tensor x = random({7, 48});
  const Tensor dy = random({7, 33});
  TestWeights source;
  const Weight frozen = source.add(random({33, 48}), /*trained=*/false);
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = linear(leaf, frozen, context, "linear");
  EXPECT_TRUE(torch::autograd::grad({y}, {leaf}, {dy})[0].defined());
  EXPECT_FALSE(source.grad(frozen).defined());

  // Rows that need no gradient: the weight's is not lost.
  const Weight trained = source.add(random({33, 48}));
  const Tensor z = linear(x, trained, context, "linear");
  (void)torch::autograd::grad({z}, {trained.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(source.grad(trained).defined());
}

TEST_P(LinearTest, AnExpandedGradientIsTaken) {
  const Tensor x = random({9, 48});
  const Tensor w = random({33, 48});
  const Tensor row = random({1, 33});
  TestWeights a;
  TestWeights b;
  const auto expanded = run(a, a.add(w), x, row.expand({9, 33}));
  const auto dense = run(b, b.add(w), x, row.expand({9, 33}).contiguous());
  EXPECT_TRUE(same_bits(expanded[1], dense[1]));
  EXPECT_TRUE(same_bits(expanded[2], dense[2]));
}

TEST_P(LinearTest, NoRowsGiveNoRowsAndAZeroGradient) {
  TestWeights source;
  const auto results =
      run(source, source.add(random({33, 48})), random({0, 48}), random({0, 33}));
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({0, 33}));
  EXPECT_EQ(results[1].sizes(), at::IntArrayRef({0, 48}));
  EXPECT_TRUE(same_bits(results[2], at::zeros({33, 48})));
}

TEST_P(LinearTest, LibraryProductsAfterwardsWork) {
  // brgemm leaves tile state on a thread that crashes other oneDNN calls unless it is
  // released.
  const Tensor x = random({64, 64});
  TestWeights source;
  const Weight weight = source.add(random({64, 64}));
  OpContext context;
  const Tensor expected = at::linear(x, weight.value());
  for (int i = 0; i < 4; ++i) {
    linear(x, weight, context, "linear");
    EXPECT_TRUE(same_bits(at::linear(x, weight.value()), expected));
  }
}

TEST_P(LinearTest, ShapesThatDoNotFitAreRefused) {
  TestWeights source;
  const Weight weight = source.add(random({33, 48}));
  OpContext context;
  EXPECT_THROW(linear(random({4, 47}), weight, context, "linear"), c10::Error);
  EXPECT_THROW(linear(random({4, 2, 48}), weight, context, "linear"), c10::Error);
  EXPECT_THROW(linear(random({48, 4}).t(), weight, context, "linear"), c10::Error);
}

TEST(PackWeight, AnFp32WeightPacksToTheBitsOfItsBf16Copy) {
  for (const auto& [n, k] : {std::pair{1, 1}, {33, 17}, {64, 32}, {130, 100}}) {
    const Tensor w = test_tensor({n, k}, at::kFloat, 1);
    for (const PackKind kind : {PackKind::kForward, PackKind::kBackward}) {
      const Tensor direct = cpu::pack_weight(w, kind, at::kBFloat16);
      EXPECT_TRUE(
          same_bits(direct, cpu::pack_weight(w.to(at::kBFloat16), kind, at::kBFloat16)));
      EXPECT_EQ(
          direct.scalar_type(), cpu::has_bf16_brgemm() ? at::kBFloat16 : at::kFloat);
    }
  }
}

TEST(PackWeight, ForwardHoldsTheTransposeInBlocks) {
  const Tensor w = test_tensor({70, 5}, at::kFloat, 1);
  const Tensor packed = cpu::pack_weight(w, PackKind::kForward, at::kFloat);
  ASSERT_EQ(packed.sizes(), at::IntArrayRef({2, 5, 64}));
  EXPECT_TRUE(same_bits(packed[0], w.narrow(0, 0, 64).t()));
  EXPECT_TRUE(same_bits(packed[1].narrow(1, 0, 6), w.narrow(0, 64, 6).t()));
  EXPECT_TRUE(same_bits(packed[1].narrow(1, 6, 58), at::zeros({5, 58})));
}

TEST(PackWeight, OtherDtypesAreRefused) {
  EXPECT_THROW(
      cpu::pack_weight(at::zeros({2, 2}, at::kHalf), PackKind::kForward, at::kFloat),
      c10::Error);
  EXPECT_THROW(
      cpu::pack_weight(at::zeros({2, 2}), PackKind::kForward, at::kHalf), c10::Error);
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, LinearTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(c10::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
