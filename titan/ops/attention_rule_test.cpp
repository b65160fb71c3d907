#include "titan/ops/attention_rule.h"

#include "titan/ops/attention_test_cases.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

using Shape = AttentionShape;

// Output, log-sum-exp and the gradients of query, key, value and sinks.
constexpr const char* kAllNames[] = {"out", "lse", "dq", "dk", "dv", "dsinks"};

struct Rule {
  AttentionRule rule;
  bool sinks = false;
};

class AttentionRuleTest : public AttentionCase {
 protected:
  struct Case {
    SequenceContext sequence;
    AttentionInputs in;
    Tensor sinks;  // fp32 [H], or undefined
    Tensor grad_out;
    Tensor grad_lse;
  };

  static Case make(const Shape& shape, bool sinks) {
    const auto fp32 = at::kFloat;
    return {
        SequenceContext::packed(shape.lengths),
        inputs(shape),
        sinks ? test_tensor({shape.heads}, fp32, 1) : Tensor(),
        output_gradient(shape),
        test_tensor({shape.tokens(), shape.heads}, fp32, 1)};
  }

  static Results ours(const Case& c, const AttentionRule& rule) {
    const auto leaf = [](const Tensor& x) { return x.detach().set_requires_grad(true); };
    TestWeights weights;
    Weight sinks;
    AttentionInputs in{leaf(c.in.query), leaf(c.in.key), leaf(c.in.value)};
    std::vector<Tensor> leaves = {in.query, in.key, in.value};
    if (c.sinks.defined()) {
      sinks = weights.add(c.sinks);
      in.sinks = &sinks;
      leaves.push_back(sinks.stub);
    }
    OpContext context;
    const AttentionOutput y =
        attention_with_log_sum_exp(in, c.sequence, rule, context, "core");
    const auto grads = torch::autograd::grad(
        {y.out, y.log_sum_exp},
        leaves,
        {c.grad_out, c.grad_lse},
        /*retain_graph=*/c10::nullopt,
        /*create_graph=*/false,
        /*allow_unused=*/true);
    Results results = {
        y.out.detach(), y.log_sum_exp.detach(), grads[0], grads[1], grads[2]};
    if (c.sinks.defined()) {
      results.push_back(weights.grad(sinks));
    }
    return results;
  }

  // The plain form in the given type.
  static Results plain(const Case& c, const AttentionRule& rule, at::ScalarType type) {
    const auto leaf = [&](const Tensor& x) {
      return x.detach()
          .to(type, /*non_blocking=*/false, /*copy=*/true)
          .set_requires_grad(true);
    };
    const AttentionInputs in{leaf(c.in.query), leaf(c.in.key), leaf(c.in.value)};
    std::vector<Tensor> leaves = {in.query, in.key, in.value};
    if (c.sinks.defined()) {
      leaves.push_back(leaf(c.sinks));
    }
    const Tensor sinks = c.sinks.defined() ? leaves[3] : Tensor();
    const AttentionOutput y = attention_plain(in, c.sequence, rule, sinks);
    Results results = {y.out.detach(), y.log_sum_exp.detach()};
    for (const Tensor& grad : torch::autograd::grad(
             {y.out, y.log_sum_exp},
             leaves,
             {c.grad_out.to(type), c.grad_lse.to(type)})) {
      results.push_back(grad);
    }
    return results;
  }

  // Against fp64: in fp32 no worse than the plain form, in bf16 within what the rounding
  // of weights and results leaves.
  static void expect_exact(const Case& c, const AttentionRule& rule) {
    const Results got = ours(c, rule);
    const Results exact = plain(c, rule, at::kDouble);
    const Results library = plain(c, rule, at::kFloat);
    ASSERT_EQ(got.size(), exact.size());
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(kAllNames[i]);
      const bool sum_over_rows = i == 5;  // of both signs
      if (GetParam() == at::kFloat) {
        EXPECT_TRUE(no_worse(got[i], library[i], exact[i], sum_over_rows ? 2e-6 : 6e-7));
      } else {
        EXPECT_LT(relative_error(got[i], exact[i]), sum_over_rows ? 2e-2 : 4e-3);
      }
    }
  }
};

TEST_P(AttentionRuleTest, ValueAndGradientsMatchTheOracle) {
  const Rule rules[] = {
      {{}},
      {{}, true},
      {{.window = 7}},
      {{.window = 128}, true},
      {{.window = 300}},
      {{.soft_cap = 1}},
      {{.window = 100, .soft_cap = 30}, true},
      {{.causal = false}},
      {{.causal = false, .soft_cap = 20}, true}};
  const Shape shapes[] = {
      {{1, 5, 65, 300}, 6, 2, 64, 64}, {{140}, 2, 1, 24, 40}, {{530}, 1, 1, 192, 128}};
  for (const Shape& shape : shapes) {
    for (const Rule& rule : rules) {
      AttentionRule r = rule.rule;
      r.scale = shape.scale();
      SCOPED_TRACE(
          testing::Message() << "D " << shape.key_dim << " window " << r.window << " cap "
                             << r.soft_cap << " causal " << r.causal << " sinks "
                             << rule.sinks);
      expect_exact(make(shape, rule.sinks), r);
    }
  }
}

// Large scores: tanh is flat there, and no weight may become NaN.
TEST_P(AttentionRuleTest, LargeScoresStayFiniteUnderACap) {
  const Shape shape{{200}, 2, 1, 16, 16};
  Case c = make(shape, false);
  c.in.query.mul_(1000);
  const AttentionRule rule{.scale = 1, .soft_cap = 50};
  for (const Tensor& result : ours(c, rule)) {
    EXPECT_TRUE(result.isfinite().all().item<bool>());
  }
}

TEST_P(AttentionRuleTest, ADocumentHasTheSameBitsAloneAndPackedAtAnyThreadCount) {
  const Shape shape{kMixedLengths, 6, 2, 64, 64};
  for (const AttentionRule rule :
       {AttentionRule{.scale = 0.1, .window = 90, .soft_cap = 10},
        AttentionRule{.scale = 0.1, .causal = false}}) {
    const Case c = make(shape, true);
    const ThreadCount two(2);
    const Results packed = ours(c, rule);
    for (const int threads : {1, 2, 3}) {
      const ThreadCount count(threads);
      const Results again = ours(c, rule);
      for (size_t i = 0; i < again.size(); ++i) {
        EXPECT_TRUE(same_bits(again[i], packed[i])) << kAllNames[i] << " " << threads;
      }
      int64_t row = 0;
      for (const int64_t length : shape.lengths) {
        const auto cut = [&](const Tensor& x) { return x.narrow(0, row, length); };
        const Results alone = ours(
            {SequenceContext::packed({length}),
             {cut(c.in.query), cut(c.in.key), cut(c.in.value)},
             c.sinks,
             cut(c.grad_out),
             cut(c.grad_lse)},
            rule);
        for (size_t i = 0; i < 5; ++i) {
          EXPECT_TRUE(same_bits(alone[i], cut(packed[i])))
              << kAllNames[i] << " of the document of " << length;
        }
        row += length;
      }
    }
  }
}

// The gradients of one long document come from several tasks that take turns.
TEST_P(AttentionRuleTest, OneLongDocumentHasTheSameBitsAtAnyThreadCount) {
  for (const int64_t heads : {1, 3}) {
    const Case c = make({{1700}, heads, 1, 32, 32}, true);
    for (const AttentionRule rule :
         {AttentionRule{.scale = 0.1}, AttentionRule{.scale = 0.1, .window = 300}}) {
      const ThreadCount one(1);
      const Results expected = ours(c, rule);
      for (const int threads : {2, 3, 5}) {
        const ThreadCount count(threads);
        for (int repeat = 0; repeat < 2; ++repeat) {
          const Results got = ours(c, rule);
          for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_TRUE(same_bits(got[i], expected[i])) << kAllNames[i] << " " << threads;
          }
        }
      }
    }
  }
}

TEST_P(AttentionRuleTest, AnyChunkOfAPromptHasTheBitsOfTheWhole) {
  const Shape shape{{700}, 4, 2, 64, 64};
  for (const AttentionRule rule :
       {AttentionRule{.scale = 0.1, .window = 1},
        AttentionRule{.scale = 0.1, .window = 60, .soft_cap = 10},
        AttentionRule{.scale = 0.1, .window = 250}}) {
    const AttentionInputs in = inputs(shape);
    const Tensor whole = forward(in, SequenceContext::packed({700}), rule);
    for (const int64_t length : {1, 3, 16, 17, 100, 130, 513}) {
      for (int64_t begin = 0; begin < 700; begin += length) {
        const int64_t rows = std::min(length, 700 - begin);
        const SequenceContext sequence{
            {{.query_begin = 0, .query_length = rows, .position = begin}}};
        const Tensor out =
            forward({in.query.narrow(0, begin, rows), in.key, in.value}, sequence, rule);
        ASSERT_TRUE(same_bits(out, whole.narrow(0, begin, rows)))
            << rows << " rows from " << begin << ", window " << rule.window;
      }
    }
  }
}

// Also a key or value that is not finite: it is out of sight before and after its window.
TEST_P(AttentionRuleTest, AWindowHidesWhatLiesOutside) {
  const Shape shape{{700}, 6, 2, 64, 64};
  const AttentionRule rule{.scale = 0.1, .window = 50};
  const SequenceContext sequence = SequenceContext::packed({700});
  const AttentionInputs clean = inputs(shape);
  const Tensor expected = forward(clean, sequence, rule);
  for (const float bad : {kInfinity, NAN}) {
    for (const bool in_key : {false, true}) {
      const AttentionInputs in{clean.query, clean.key.clone(), clean.value.clone()};
      (in_key ? in.key : in.value)[70].fill_(bad);
      const Tensor out = forward(in, sequence, rule);
      EXPECT_TRUE(same_bits(out.narrow(0, 0, 70), expected.narrow(0, 0, 70)));
      EXPECT_TRUE(same_bits(out.narrow(0, 120, 580), expected.narrow(0, 120, 580)));
      if (!in_key) {
        EXPECT_FALSE(out.narrow(0, 70, 50).isfinite().any().item<bool>());
      }
    }
  }
}

// Keys in two parts, merged by their log-sum-exp: the second one is out of the first
// rows' sight.
TEST_P(AttentionRuleTest, PartsOfTheKeysMergeToTheWhole) {
  const Shape shape{{500}, 4, 2, 64, 64};
  const AttentionRule rule{.scale = shape.scale()};
  const Case c = make(shape, false);
  const auto leaf = [](const Tensor& x) { return x.detach().set_requires_grad(true); };
  const AttentionInputs in{leaf(c.in.query), leaf(c.in.key), leaf(c.in.value)};
  OpContext context;
  constexpr int64_t kBorder = 301;
  const auto part = [&](int64_t begin, int64_t end) {
    const SequenceContext sequence{
        {{.query_begin = 0,
          .query_length = 500,
          .position = 0,
          .key_begin = begin,
          .key_position = begin,
          .key_length = end - begin}}};
    return attention_with_log_sum_exp(in, sequence, rule, context, "core");
  };
  const AttentionOutput early = part(0, kBorder);
  const AttentionOutput late = part(kBorder, 500);
  EXPECT_TRUE(late.log_sum_exp.narrow(0, 0, kBorder).eq(-kInfinity).all().item<bool>());
  EXPECT_TRUE(late.out.narrow(0, 0, kBorder).eq(0).all().item<bool>());

  const Tensor lse = at::logaddexp(early.log_sum_exp, late.log_sum_exp);
  const auto weighed = [&](const AttentionOutput& y) {
    return y.out * at::exp(y.log_sum_exp - lse).unsqueeze(-1);
  };
  const Tensor out = weighed(early) + weighed(late);
  const auto grads = torch::autograd::grad(
      {out, lse}, {in.query, in.key, in.value}, {c.grad_out.to(at::kFloat), c.grad_lse});
  const Results exact = plain(c, rule, at::kDouble);
  const double bound = GetParam() == at::kFloat ? 1e-6 : 6e-3;
  EXPECT_LT(relative_error(out.detach(), exact[0]), bound);
  EXPECT_LT(relative_error(lse.detach(), exact[1]), bound);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LT(relative_error(grads[i], exact[2 + i]), bound) << kNames[1 + i];
  }
}

// What a rank of a split context holds: two chunks of the queries, all keys.
TEST_P(AttentionRuleTest, SpansThatShareKeysAddUpTheirGradients) {
  const Shape shape{{400}, 4, 2, 32, 32};
  const AttentionRule rule{.scale = shape.scale()};
  const Case whole = make(shape, true);
  const auto rows = [](const Tensor& x) {
    return at::cat({x.narrow(0, 50, 90), x.narrow(0, 300, 100)});
  };
  const Case chunks{
      {{{.query_begin = 0, .query_length = 90, .position = 50},
        {.query_begin = 90, .query_length = 100, .position = 300}}},
      {rows(whole.in.query), whole.in.key, whole.in.value},
      whole.sinks,
      rows(whole.grad_out),
      rows(whole.grad_lse)};
  expect_exact(chunks, rule);
  const Results got = ours(chunks, rule);
  const Results expected = ours(whole, rule);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(same_bits(got[i], rows(expected[i]))) << kAllNames[i];
  }
}

TEST_P(AttentionRuleTest, KeysThatNoQuerySeesGetNoGradient) {
  const Shape shape{{100}, 2, 1, 32, 32};
  const Case c = make(shape, false);
  const Case last{
      {{{.query_begin = 0, .query_length = 10, .position = 40}}},
      {c.in.query.narrow(0, 40, 10), c.in.key, c.in.value},
      c.sinks,
      c.grad_out.narrow(0, 40, 10),
      c.grad_lse.narrow(0, 40, 10)};
  const AttentionRule rule{.scale = 0.2, .window = 20};
  expect_exact(last, rule);
  const Results got = ours(last, rule);
  for (const size_t i : {3, 4}) {
    EXPECT_TRUE(got[i].narrow(0, 0, 21).eq(0).all().item<bool>()) << kAllNames[i];
    EXPECT_TRUE(got[i].narrow(0, 50, 50).eq(0).all().item<bool>()) << kAllNames[i];
    EXPECT_FALSE(got[i].narrow(0, 21, 29).eq(0).any().item<bool>()) << kAllNames[i];
  }
}

TEST_P(AttentionRuleTest, ARowThatSeesNothingIsZeroAndHasNoGradient) {
  const Shape shape{{60}, 2, 1, 32, 32};
  Case c = make(shape, false);
  // Keys for the positions [20, 40) alone; rows 50 on have lost them to the window.
  c.sequence.spans[0].key_begin = 20;
  c.sequence.spans[0].key_position = 20;
  c.sequence.spans[0].key_length = 20;
  const AttentionRule rule{.scale = 0.2, .window = 11};
  const Results got = ours(c, rule);
  for (const auto& [begin, rows] : {std::pair<int64_t, int64_t>{0, 20}, {50, 10}}) {
    EXPECT_TRUE(got[0].narrow(0, begin, rows).eq(0).all().item<bool>());
    EXPECT_TRUE(got[1].narrow(0, begin, rows).eq(-kInfinity).all().item<bool>());
    EXPECT_TRUE(got[2].narrow(0, begin, rows).eq(0).all().item<bool>());
  }
  EXPECT_FALSE(got[2].narrow(0, 20, 30).eq(0).any().item<bool>());
  for (const Tensor& result : {got[0], got[2], got[3], got[4]}) {
    EXPECT_TRUE(result.isfinite().all().item<bool>());
  }
}

TEST_P(AttentionRuleTest, SinksAloneAreTrainedAndFrozenOnesAreNot) {
  const Shape shape{{150}, 4, 2, 32, 32};
  const Case c = make(shape, true);
  const AttentionRule rule{.scale = 0.2};
  OpContext context;
  TestWeights weights;
  Weight trained = weights.add(c.sinks);
  AttentionInputs in = c.in;
  in.sinks = &trained;
  const Tensor out = attention(in, c.sequence, rule, context, "core");
  torch::autograd::grad(
      {out}, {trained.stub}, {c.grad_out}, c10::nullopt, false, /*allow_unused=*/true);
  EXPECT_TRUE(weights.grad(trained).isfinite().all().item<bool>());

  Weight frozen = weights.add(c.sinks, /*trained=*/false);
  in.sinks = &frozen;
  in.query = in.query.detach().set_requires_grad(true);
  const Tensor again = attention(in, c.sequence, rule, context, "core");
  EXPECT_TRUE(same_bits(again.detach(), out.detach()));
  torch::autograd::grad({again}, {in.query}, {c.grad_out});
  EXPECT_FALSE(weights.grad(frozen).defined());
}

TEST_P(AttentionRuleTest, RefusesWhatItCannotDifferentiate) {
  const Shape shape{{10}, 4, 2, 16, 16};
  AttentionInputs in = inputs(shape);
  in.query.set_requires_grad(true);
  SequenceContext blocks{
      {{.query_begin = 0, .query_length = 10, .position = 0, .blocks = {0, 1}}}, 5};
  EXPECT_EQ(
      refusal(in, blocks, shape.rule()),
      "[attention] gradients need keys without blocks, but the sequence at row 0 has "
      "some");
  const SequenceContext overlap{
      {{.query_begin = 0, .query_length = 6, .position = 0, .key_begin = 0},
       {.query_begin = 6, .query_length = 4, .position = 0, .key_begin = 5}}};
  EXPECT_EQ(
      refusal(in, overlap, shape.rule()),
      "[attention] gradients need sequences that share all keys from the first on or "
      "none, but that at row 6 starts at key 5 of another one");
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    AttentionRuleTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(at::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
