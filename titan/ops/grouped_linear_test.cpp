#include "titan/ops/grouped_linear.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/cpu/pack.h"
#include "titan/ops/linear.h"
#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

// Offsets of groups with these numbers of rows.
Tensor offsets_of(const std::vector<int64_t>& counts) {
  const Tensor offsets = at::zeros({static_cast<int64_t>(counts.size()) + 1}, at::kLong);
  offsets.narrow(0, 1, offsets.numel() - 1)
      .copy_(at::tensor(counts, at::kLong).cumsum(0));
  return offsets;
}

// The message of the error that `call` throws.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

struct Shape {
  std::vector<int64_t> counts;
  int64_t k, n;

  [[nodiscard]] int64_t rows() const {
    int64_t sum = 0;
    for (const int64_t count : counts) {
      sum += count;
    }
    return sum;
  }

  [[nodiscard]] int64_t groups() const { return static_cast<int64_t>(counts.size()); }
};

class GroupedLinearTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  Tensor random(at::IntArrayRef sizes, double scale = 1) const {
    return test_tensor(sizes, GetParam(), scale);
  }
};

// y, dX and dW of one call.
std::vector<Tensor> run(
    TestWeights& source,
    const Weight& weight,
    const Tensor& offsets,
    const Tensor& x,
    const Tensor& dy) {
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = grouped_linear(leaf, offsets, weight, context, "experts");
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  return {y.detach(), dx[0], source.grad(weight)};
}

// The same from the plain form, in the dtype of its inputs.
std::vector<Tensor> run_plain(
    const Tensor& weight, const Tensor& offsets, const Tensor& x, const Tensor& dy) {
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor parameter = weight.detach().set_requires_grad(true);
  const Tensor y = grouped_linear_plain(leaf, offsets, parameter);
  const auto grads = torch::autograd::grad({y}, {leaf, parameter}, {dy});
  return {y.detach(), grads[0], grads[1]};
}

TEST_P(GroupedLinearTest, ValueAndGradientsMatchTheOracle) {
  const Shape shapes[] = {
      {{1}, 1, 1},
      {{0, 3, 0, 0, 1, 70, 0}, 17, 33},
      {{64, 64}, 48, 96},
      {{5, 300, 1, 33}, 100, 130},
      {{2, 0, 1030}, 40, 70},
      {{3, 1}, 2100, 24},
      {{70, 2}, 4200, 130}};
  for (const Shape& s : shapes) {
    SCOPED_TRACE(testing::Message() << "R " << s.rows() << " K " << s.k << " N " << s.n);
    const Tensor offsets = offsets_of(s.counts);
    const Tensor x = random({s.rows(), s.k});
    const Tensor w = random({s.groups(), s.n, s.k}, 0.1);
    const Tensor dy = random({s.rows(), s.n});
    TestWeights source;
    const std::vector<Tensor> ours = run(source, source.add(w), offsets, x, dy);
    const std::vector<Tensor> library = run_plain(w, offsets, x, dy);
    const std::vector<Tensor> exact =
        run_plain(w.to(at::kDouble), offsets, x.to(at::kDouble), dy.to(at::kDouble));
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].scalar_type(), i == 2 ? at::kFloat : GetParam());
      EXPECT_TRUE(no_worse(ours[i], library[i], exact[i])) << "result " << i;
    }
  }
}

TEST_P(GroupedLinearTest, RowsAndGradientsHaveTheBitsOfTheLinearMap) {
  // Every expert alone, whatever the others have and however threads share the work.
  const Shape s{{44, 0, 1, 257, 2, 33, 512, 0, 7, 45, 16, 3, 1, 1, 64}, 576, 200};
  const Tensor offsets = offsets_of(s.counts);
  const Tensor x = random({s.rows(), s.k});
  const Tensor w = random({s.groups(), s.n, s.k}, 0.1);
  const Tensor dy = random({s.rows(), s.n});
  for (const int threads : {1, 2, 3, 7}) {
    const ThreadCount count(threads);
    TestWeights source;
    const std::vector<Tensor> all = run(source, source.add(w), offsets, x, dy);
    int64_t begin = 0;
    for (int64_t g = 0; g < s.groups(); ++g) {
      SCOPED_TRACE(testing::Message() << threads << " threads, expert " << g);
      const int64_t rows = s.counts[static_cast<size_t>(g)];
      TestWeights alone;
      const Weight weight = alone.add(w[g].clone());
      OpContext context;
      const Tensor leaf = x.narrow(0, begin, rows).detach().set_requires_grad(true);
      const Tensor y = linear(leaf, weight, context, "linear");
      const auto dx = torch::autograd::grad(
          {y}, {leaf, weight.stub}, {dy.narrow(0, begin, rows)}, {}, false, true);
      EXPECT_TRUE(same_bits(all[0].narrow(0, begin, rows), y.detach()));
      EXPECT_TRUE(same_bits(all[1].narrow(0, begin, rows), dx[0]));
      EXPECT_TRUE(same_bits(all[2][g], alone.grad(weight)));
      begin += rows;
    }
  }
}

TEST_P(GroupedLinearTest, ARowHasTheSameBitsInAGroupOfAnySize) {
  for (const auto& [k, n] : {std::pair{48, 40}, {100, 65}, {2100, 130}}) {
    SCOPED_TRACE(testing::Message() << "K " << k << " N " << n);
    const Tensor x = random({512, k});
    TestWeights source;
    const Weight weight = source.add(random({3, n, k}));
    OpContext context;
    const ThreadCount one(1);
    const Tensor all =
        grouped_linear(x, offsets_of({0, 512, 0}), weight, context, "experts");
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      for (const int64_t m : kRowCounts) {
        // Rows from the middle on, between rows of other experts.
        const int64_t begin = (512 - m) / 2;
        const Tensor y = grouped_linear(
            x, offsets_of({begin, m, 512 - begin - m}), weight, context, "experts");
        EXPECT_TRUE(same_bits(y.narrow(0, begin, m), all.narrow(0, begin, m)))
            << m << " rows, " << threads << " threads";
      }
    }
  }
}

TEST_P(GroupedLinearTest, TwentyRunsGiveTheSameBits) {
  const Tensor offsets = offsets_of({40, 0, 3, 90});
  const Tensor x = random({133, 96});
  const Tensor w = random({4, 70, 96});
  const Tensor dy = random({133, 70});
  std::vector<Tensor> first;
  for (int i = 0; i < 20; ++i) {
    TestWeights source;
    const std::vector<Tensor> results = run(source, source.add(w), offsets, x, dy);
    if (first.empty()) {
      first = results;
    }
    for (size_t j = 0; j < results.size(); ++j) {
      EXPECT_TRUE(same_bits(results[j], first[j])) << "result " << j;
    }
  }
}

TEST_P(GroupedLinearTest, AnExpertWithoutRowsGetsZerosFirstAndNothingLater) {
  TestWeights source;
  const Weight weight = source.add(random({3, 33, 48}));
  run(source, weight, offsets_of({5, 0, 2}), random({7, 48}), random({7, 33}));
  EXPECT_TRUE(same_bits(source.grad(weight)[1], at::zeros({33, 48})));
  const Tensor before = source.grad(weight).clone();
  run(source, weight, offsets_of({0, 7, 0}), random({7, 48}), random({7, 33}));
  EXPECT_TRUE(same_bits(source.grad(weight)[0], before[0]));
  EXPECT_FALSE(same_bits(source.grad(weight)[1], before[1]));
  EXPECT_TRUE(same_bits(source.grad(weight)[2], before[2]));
}

TEST_P(GroupedLinearTest, TheSecondUseOfAWeightIsAddedOncePerElement) {
  const Tensor offsets = offsets_of({2100, 1, 40});
  const Tensor other_offsets = offsets_of({7, 60, 0});
  const Tensor w = random({3, 70, 48});
  const Tensor x = random({2141, 48});
  const Tensor dy = random({2141, 70});
  const Tensor other = random({67, 48});
  const Tensor other_dy = random({67, 70});
  TestWeights twice;
  const Weight shared = twice.add(w);
  run(twice, shared, other_offsets, other, other_dy);
  run(twice, shared, offsets, x, dy);

  TestWeights first;
  TestWeights second;
  TestWeights sum;
  const Weight target = sum.add(w);
  sum.add_grad(0, run(first, first.add(w), other_offsets, other, other_dy)[2]);
  sum.add_grad(0, run(second, second.add(w), offsets, x, dy)[2]);
  EXPECT_TRUE(same_bits(twice.grad(shared), sum.grad(target)));
}

TEST_P(GroupedLinearTest, DeferralGivesTheSameBitsLater) {
  const Tensor offsets = offsets_of({30, 0, 40});
  const Tensor x = random({70, 48});
  const Tensor w = random({3, 33, 48});
  const Tensor dy = random({70, 33});
  TestWeights at_once;
  const std::vector<Tensor> expected = run(at_once, at_once.add(w), offsets, x, dy);

  TestWeights source;
  const Weight weight = source.add(w);
  OpContext context;
  WgradQueue queue;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = grouped_linear(leaf, offsets, weight, context, "experts");
  context.defer = &queue;  // after forward: looked up at backward
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], expected[1]));
  EXPECT_FALSE(source.grad(weight).defined());
  queue.run();
  EXPECT_TRUE(same_bits(source.grad(weight), expected[2]));
}

TEST_P(GroupedLinearTest, AReplayTakesTheRecordedResult) {
  const Tensor offsets = offsets_of({30, 0, 40});
  const Tensor x = random({70, 48});
  const Tensor w = random({3, 33, 48});
  const Tensor dy = random({70, 33});
  TestWeights plain;
  const std::vector<Tensor> expected = run(plain, plain.add(w), offsets, x, dy);

  TestWeights source;
  const Weight weight = source.add(w);
  RematFrame frame({"experts.*"});
  OpContext context;
  context.remat = &frame;
  frame.set_phase(RematFrame::Phase::kRecord);
  Tensor recorded;
  {
    const at::NoGradGuard no_grad;
    recorded = grouped_linear(x, offsets, weight, context, "experts.up");
  }
  // Marks the stored result, so that a recomputed one would show.
  recorded.fill_(1);
  frame.set_phase(RematFrame::Phase::kReplay);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = grouped_linear(leaf, offsets, weight, context, "experts.up");
  EXPECT_TRUE(same_bits(y, at::ones_like(y)));
  const auto dx = torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(same_bits(dx[0], expected[1]));
  EXPECT_TRUE(same_bits(source.grad(weight), expected[2]));
}

TEST_P(GroupedLinearTest, OnlyWhatIsTrainedGetsAGradient) {
  const Tensor offsets = offsets_of({3, 4});
  const Tensor x = random({7, 48});
  const Tensor dy = random({7, 33});
  TestWeights source;
  const Weight frozen = source.add(random({2, 33, 48}), /*trained=*/false);
  OpContext context;
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = grouped_linear(leaf, offsets, frozen, context, "experts");
  EXPECT_TRUE(torch::autograd::grad({y}, {leaf}, {dy})[0].defined());
  EXPECT_FALSE(source.grad(frozen).defined());

  // Rows that need no gradient: the weight's is not lost.
  const Weight trained = source.add(random({2, 33, 48}));
  const Tensor z = grouped_linear(x, offsets, trained, context, "experts");
  (void)torch::autograd::grad({z}, {trained.stub}, {dy}, {}, false, true);
  EXPECT_TRUE(source.grad(trained).defined());
}

TEST_P(GroupedLinearTest, NoRowsGiveNoRowsAndAZeroGradient) {
  TestWeights source;
  const Weight weight = source.add(random({2, 33, 48}));
  const auto results =
      run(source, weight, offsets_of({0, 0}), random({0, 48}), random({0, 33}));
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({0, 33}));
  EXPECT_EQ(results[1].sizes(), at::IntArrayRef({0, 48}));
  EXPECT_TRUE(same_bits(results[2], at::zeros({2, 33, 48})));
}

TEST_P(GroupedLinearTest, WhatDoesNotFitIsRefused) {
  TestWeights source;
  const Weight weight = source.add(random({2, 33, 48}));
  const auto message = [&](at::IntArrayRef sizes, const Tensor& offsets) {
    return refusal([&] {
      OpContext context;
      grouped_linear(random(sizes), offsets, weight, context, "experts");
    });
  };
  EXPECT_EQ(
      message({4, 47}, offsets_of({1, 3})),
      "[grouped_linear] expected rows [R, K] and a weight [E, N, K], got [4, 47] and "
      "[2, 33, 48]");
  EXPECT_EQ(
      message({4, 48}, offsets_of({1, 2, 1})),
      "[grouped_linear] expected int64 offsets [3], got Long [4]");
  EXPECT_EQ(
      message({4, 48}, offsets_of({1, 3}).to(at::kInt)),
      "[grouped_linear] expected int64 offsets [3], got Int [3]");
  EXPECT_EQ(
      message({4, 48}, offsets_of({1, 2})),
      "[grouped_linear] expected offsets that ascend from 0 to the 4 rows, got 0 to 3");
  EXPECT_EQ(
      message({4, 48}, offsets_of({6, -2})),
      "[grouped_linear] expected offsets that ascend from 0 to the 4 rows, got 0 to 4");
  OpContext context;
  EXPECT_EQ(
      refusal([&] {
        grouped_linear(random({48, 4}).t(), offsets_of({1, 3}), weight, context, "e");
      }),
      "[grouped_linear] expected contiguous rows");
}

TEST_P(GroupedLinearTest, ABiasIsAddedToTheRowsOfItsExpert) {
  const Shape s{{3, 0, 70, 1}, 1, 33};
  const Tensor offsets = offsets_of(s.counts);
  const Tensor y = random({s.rows(), s.n});
  const Tensor b = random({s.groups(), s.n});
  const Tensor dy = random({s.rows(), s.n});
  const auto plain = [&](at::ScalarType dtype) {
    const Tensor rows = y.to(dtype, false, /*copy=*/true).set_requires_grad(true);
    const Tensor bias = b.to(dtype, false, /*copy=*/true).set_requires_grad(true);
    const Tensor out = grouped_bias_plain(rows, offsets, bias);
    const auto grads = torch::autograd::grad({out}, {rows, bias}, {dy.to(dtype)});
    return std::vector<Tensor>{out.detach(), grads[0], grads[1]};
  };
  const std::vector<Tensor> library = plain(GetParam());
  const std::vector<Tensor> exact = plain(at::kDouble);
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    TestWeights source;
    const Weight bias = source.add(b);
    OpContext context;
    const Tensor leaf = y.detach().set_requires_grad(true);
    const Tensor out = grouped_bias(leaf, offsets, bias, context);
    const auto grads =
        torch::autograd::grad({out}, {leaf, bias.stub}, {dy}, {}, false, true);
    const std::vector<Tensor> ours{out.detach(), grads[0], source.grad(bias)};
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(no_worse(ours[i], library[i], exact[i])) << "result " << i;
      EXPECT_TRUE(first.size() <= i || same_bits(ours[i], first[i])) << "result " << i;
    }
    first = ours;
  }
}

TEST(PackWeight, AStackIsItsMatricesOneAfterTheOther) {
  for (const auto& [n, k] : {std::pair{33, 17}, {64, 32}, {130, 100}}) {
    const Tensor w = test_tensor({3, n, k}, at::kFloat, 1);
    for (const PackKind kind : {PackKind::kForward, PackKind::kBackward}) {
      for (const auto dtype : {at::kFloat, at::kBFloat16}) {
        const Tensor packed = cpu::pack_weight(w, kind, dtype);
        for (int64_t e = 0; e < 3; ++e) {
          EXPECT_TRUE(same_bits(packed[e], cpu::pack_weight(w[e], kind, dtype)));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    GroupedLinearTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(c10::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
