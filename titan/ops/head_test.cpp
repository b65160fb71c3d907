#include "titan/ops/head.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

// Targets of a vocabulary, some of them ignored.
Tensor targets_of(int64_t count, int64_t vocabulary, bool ignore_some) {
  Tensor targets =
      at::arange(count).mul_(7919).add_(vocabulary - 1).remainder_(vocabulary);
  if (ignore_some) {
    targets.masked_fill_(at::arange(count).remainder_(3).eq(1), kIgnoreIndex);
  }
  return targets;
}

struct Results {
  Tensor logprobs, dx, dw;
};

Results run(
    TestWeights& source,
    const Weight& weight,
    const Tensor& x,
    const Tensor& targets,
    const Tensor& grad) {
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = target_logprobs(leaf, weight, targets, context);
  const auto dx =
      torch::autograd::grad({y}, {leaf, weight.stub}, {grad}, {}, false, true);
  return {y.detach(), dx[0], source.grad(weight)};
}

// The same through library calls in the dtype of x and w.
Results run_plain(
    const Tensor& x, const Tensor& w, const Tensor& targets, const Tensor& grad) {
  const Tensor x_leaf = x.detach().set_requires_grad(true);
  const Tensor w_leaf = w.detach().set_requires_grad(true);
  const Tensor y = target_logprobs_plain(x_leaf, w_leaf, targets);
  const auto grads =
      torch::autograd::grad({y}, {x_leaf, w_leaf}, {grad.to(y.scalar_type())});
  return {y.detach(), grads[0], grads[1]};
}

class HeadTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  Tensor random(at::IntArrayRef sizes, double scale = 1) const {
    return test_tensor(sizes, GetParam(), scale);
  }
};

TEST_P(HeadTest, ValueAndGradientsMatchTheOracle) {
  // The log-sum-exp is one fp32 number by contract. Here it lies in 4 to 16, and up to
  // half a unit in its last place stands in every log-probability and every probability.
  constexpr double kFloor = 3.5e-7;

  struct Shape {
    int64_t t, d, v;
  };

  for (const Shape& s :
       {Shape{1, 16, 1}, {5, 17, 33}, {40, 48, 513}, {300, 64, 1100}, {130, 32, 49152}}) {
    for (const bool ignore_some : {false, true}) {
      SCOPED_TRACE(testing::Message() << "T " << s.t << " D " << s.d << " V " << s.v);
      const Tensor x = random({s.t, s.d});
      const Tensor w = random({s.v, s.d}, 0.3);
      const Tensor targets = targets_of(s.t, s.v, ignore_some);
      const Tensor grad = test_tensor({s.t}, at::kFloat, 1);
      TestWeights source;
      const Results ours = run(source, source.add(w), x, targets, grad);
      const Results library = run_plain(x, w, targets, grad);
      const Results exact =
          run_plain(x.to(at::kDouble), w.to(at::kDouble), targets, grad.to(at::kDouble));
      EXPECT_TRUE(no_worse(ours.logprobs, library.logprobs, exact.logprobs, kFloor));
      EXPECT_TRUE(no_worse(ours.dx, library.dx, exact.dx, kFloor));
      EXPECT_TRUE(no_worse(ours.dw, library.dw, exact.dw, kFloor));
    }
  }
}

TEST_P(HeadTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  const Tensor x = random({512, 40});
  const Tensor targets = targets_of(512, 1500, false);
  const Tensor grad = test_tensor({512}, at::kFloat, 1);
  const Tensor w = random({1500, 40});
  TestWeights source;
  const Weight weight = source.add(w);
  const ThreadCount one(1);
  const Results all = run(source, weight, x, targets, grad);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    for (const int64_t m : kRowCounts) {
      const int64_t begin = (512 - m) / 2;
      const auto part = [&](const Tensor& t) { return t.narrow(0, begin, m); };
      const Results some = run(source, weight, part(x), part(targets), part(grad));
      EXPECT_TRUE(same_bits(some.logprobs, part(all.logprobs))) << m << " rows";
      EXPECT_TRUE(same_bits(some.dx, part(all.dx))) << m << " rows";
    }
  }
}

TEST_P(HeadTest, IgnoredRowsAreZeroAndChangeNoOther) {
  const Tensor x = random({90, 40});
  const Tensor w = random({700, 40});
  const Tensor targets = targets_of(90, 700, true);
  const Tensor grad = test_tensor({90}, at::kFloat, 1);
  TestWeights a;
  TestWeights b;
  const Results some = run(a, a.add(w), x, targets, grad);
  const Results all = run(b, b.add(w), x, targets_of(90, 700, false), grad);
  const Tensor ignored = targets.eq(kIgnoreIndex);
  const Tensor kept = ignored.logical_not();
  EXPECT_TRUE(same_bits(some.logprobs.index({kept}), all.logprobs.index({kept})));
  EXPECT_TRUE(same_bits(some.dx.index({kept}), all.dx.index({kept})));
  EXPECT_EQ(some.logprobs.index({ignored}).abs().sum().item<float>(), 0);
  EXPECT_EQ(some.dx.index({ignored}).abs().sum().item<float>(), 0);
}

TEST_P(HeadTest, NoTargetAtAllGivesZeros) {
  TestWeights source;
  const Results results =
      run(source,
          source.add(random({9, 16})),
          random({3, 16}),
          at::full({3}, kIgnoreIndex),
          at::ones({3}));
  EXPECT_TRUE(same_bits(results.logprobs, at::zeros({3})));
  EXPECT_TRUE(same_bits(results.dx, at::zeros({3, 16}, GetParam())));
  EXPECT_TRUE(same_bits(results.dw, at::zeros({9, 16})));
}

TEST_P(HeadTest, LogitsAndLogSumExpGiveTheBitsOfTargetLogprobs) {
  const Tensor x = random({70, 40});
  const Tensor targets = targets_of(70, 1500, false);
  TestWeights source;
  const Weight weight = source.add(random({1500, 40}));
  OpContext context;
  const Tensor expected = target_logprobs(x, weight, targets, context);
  for (const int64_t m : {1, 2, 17, 70}) {
    const Tensor all = logits(x.narrow(0, 0, m), weight);
    const Tensor picked =
        all.gather(1, targets.narrow(0, 0, m).unsqueeze(1)).squeeze(1) - log_sum_exp(all);
    EXPECT_TRUE(same_bits(picked, expected.narrow(0, 0, m))) << m << " rows";
  }
}

TEST_P(HeadTest, WeightGradientIsFormedWholeAndAddedOnce) {
  const Tensor x = random({1100, 40});
  const Tensor w = random({700, 40});
  const Tensor targets = targets_of(1100, 700, true);
  const Tensor grad = test_tensor({1100}, at::kFloat, 1);
  TestWeights alone;
  const Results expected = run(alone, alone.add(w), x, targets, grad);

  TestWeights source;
  const Weight weight = source.add(w);
  const Tensor before = test_tensor({700, 40}, at::kFloat, 1);
  source.add_grad(weight.handle.index, before);
  const Results added = run(source, weight, x, targets, grad);
  EXPECT_TRUE(same_bits(added.dw, before + expected.dw));
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    TestWeights again;
    EXPECT_TRUE(same_bits(run(again, again.add(w), x, targets, grad).dw, expected.dw));
  }
}

TEST_P(HeadTest, DeferralGivesTheSameBitsLater) {
  const Tensor x = random({70, 40});
  const Tensor w = random({700, 40});
  const Tensor targets = targets_of(70, 700, true);
  const Tensor grad = test_tensor({70}, at::kFloat, 1);
  TestWeights at_once;
  const Results expected = run(at_once, at_once.add(w), x, targets, grad);

  TestWeights source;
  const Weight weight = source.add(w);
  OpContext context;
  WgradQueue queue;
  context.defer = &queue;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = target_logprobs(leaf, weight, targets, context);
  const auto dx =
      torch::autograd::grad({y}, {leaf, weight.stub}, {grad}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], expected.dx));
  EXPECT_FALSE(source.grad(weight).defined());
  queue.run();
  EXPECT_TRUE(same_bits(source.grad(weight), expected.dw));
}

TEST_P(HeadTest, OnlyWhatIsTrainedGetsAGradient) {
  const Tensor x = random({7, 40});
  const Tensor targets = targets_of(7, 90, false);
  TestWeights source;
  OpContext context;
  const Weight frozen = source.add(random({90, 40}), /*trained=*/false);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = target_logprobs(leaf, frozen, targets, context);
  EXPECT_TRUE(torch::autograd::grad({y}, {leaf}, {at::ones({7})})[0].defined());
  EXPECT_FALSE(source.grad(frozen).defined());

  const Weight trained = source.add(random({90, 40}));
  const Tensor z = target_logprobs(x, trained, targets, context);
  (void)torch::autograd::grad({z}, {trained.stub}, {at::ones({7})}, {}, false, true);
  EXPECT_TRUE(source.grad(trained).defined());
}

TEST_P(HeadTest, ANonFiniteWeightShowsInEveryRow) {
  Tensor w = random({700, 40});
  w[600][3] = NAN;
  TestWeights source;
  OpContext context;
  const Tensor y =
      target_logprobs(random({5, 40}), source.add(w), targets_of(5, 500, false), context);
  EXPECT_TRUE(y.isnan().all().item<bool>());
}

TEST_P(HeadTest, TargetsOutsideTheVocabularyAreRefused) {
  TestWeights source;
  const Weight weight = source.add(random({9, 16}));
  OpContext context;
  for (const int64_t target : {9, -1}) {
    try {
      target_logprobs(random({1, 16}), weight, at::full({1}, target), context);
      ADD_FAILURE() << "target " << target << " was taken";
    } catch (const c10::Error& error) {
      EXPECT_EQ(
          std::string(error.what_without_backtrace()),
          "[target_logprobs] expected targets in [0, 9), got " + std::to_string(target));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, HeadTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(c10::toString(info.param));
    });

TEST(LogSumExp, MasksWithMinusInfinity) {
  const Tensor x = test_tensor({3, 1500}, at::kFloat, 1);
  x.narrow(1, 0, 900).fill_(-INFINITY);
  x[2].fill_(-INFINITY);
  const Tensor expected = at::logsumexp(x.to(at::kDouble), 1).to(at::kFloat);
  EXPECT_TRUE(at::allclose(log_sum_exp(x), expected, 1e-6, 1e-6));
}

}  // namespace
}  // namespace titan::ops
