#include "titan/ops/delta_rule.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/test_tensors.h"

namespace titan::ops {
namespace {

constexpr std::array kNames = {
    "out", "states", "d query", "d key", "d value", "d log_decay", "d beta", "d states"};

// Output, states behind the spans, and the gradients of the inputs.
using Results = std::array<Tensor, kNames.size()>;

struct Shape {
  std::vector<int64_t> lengths;
  int64_t heads, key_heads;
  int64_t key_dim, value_dim;
  double decay;  // largest -log decay a step

  [[nodiscard]] int64_t tokens() const {
    int64_t sum = 0;
    for (const int64_t length : lengths) {
      sum += length;
    }
    return sum;
  }

  [[nodiscard]] DeltaRuleOptions options() const {
    return {.scale = 1 / std::sqrt(static_cast<double>(key_dim))};
  }
};

const std::vector<int64_t> kMixedLengths = {1, 63, 64, 15, 65, 200, 16};

struct Inputs {
  DeltaRuleInputs rows;
  Tensor states;  // or undefined
  Tensor d_out;
  Tensor d_states;
};

DeltaRuleInputs map(const DeltaRuleInputs& in, const auto& f) {
  return {f(in.query), f(in.key), f(in.value), f(in.log_decay), f(in.beta)};
}

// Rows [begin, begin + count).
DeltaRuleInputs narrow(const DeltaRuleInputs& in, int64_t begin, int64_t count) {
  return map(in, [&](const Tensor& x) { return x.narrow(0, begin, count); });
}

// Errors that count as rounding, for no_worse(). The log decays' gradients are
// differences of what rows read and write: where strong decays leave little of them, the
// rounding of the terms shows.
double floor_of(size_t result) {
  return result == 5 ? 2e-5 : 6e-7;
}

template <class Op>
Results differentiate(const Inputs& in, const Op& op) {
  const auto leaf = [](const Tensor& x) {
    return x.defined() ? x.detach().set_requires_grad(true) : x;
  };
  const DeltaRuleInputs leaves = map(in.rows, leaf);
  const Tensor states = leaf(in.states);
  const DeltaRuleOutput got = op(leaves, states);
  std::vector<Tensor> wanted = {
      leaves.query, leaves.key, leaves.value, leaves.log_decay, leaves.beta};
  if (states.defined()) {
    wanted.push_back(states);
  }
  auto grads =
      torch::autograd::grad({got.out, got.states}, wanted, {in.d_out, in.d_states});
  grads.resize(6);
  return {
      got.out.detach(),
      got.states.detach(),
      grads[0],
      grads[1],
      grads[2],
      grads[3],
      grads[4],
      grads[5]};
}

Results ours(const Shape& shape, const Inputs& in, const SequenceContext& sequence) {
  return differentiate(in, [&](const DeltaRuleInputs& rows, const Tensor& states) {
    return delta_rule_with_states(rows, states, sequence, shape.options());
  });
}

Results ours(const Shape& shape, const Inputs& in) {
  return ours(shape, in, SequenceContext::packed(shape.lengths));
}

Results plain(const Shape& shape, const Inputs& in, const SequenceContext& sequence) {
  return differentiate(in, [&](const DeltaRuleInputs& rows, const Tensor& states) {
    return delta_rule_plain(rows, states, sequence, shape.options());
  });
}

Results exact(const Shape& shape, const Inputs& in, const SequenceContext& sequence) {
  const auto wide = [](const Tensor& x) { return x.defined() ? x.to(at::kDouble) : x; };
  const Inputs inputs{
      map(in.rows, wide), wide(in.states), wide(in.d_out), wide(in.d_states)};
  return plain(shape, inputs, sequence);
}

// Of each dtype; with one decay a head (Gated DeltaNet) or one a channel (KDA).
class DeltaRuleTest : public testing::TestWithParam<std::tuple<at::ScalarType, bool>> {
 protected:
  static at::ScalarType dtype() { return std::get<0>(GetParam()); }

  static Inputs inputs(const Shape& s) {
    const int64_t t = s.tokens();
    const auto rows = [&](int64_t heads, int64_t width) {
      return test_tensor({t, heads, width}, dtype(), 1);
    };
    const auto gate = [](at::IntArrayRef sizes) {
      return test_tensor(sizes, at::kFloat, 1).sigmoid();
    };
    const bool channels = std::get<1>(GetParam());
    const Tensor decay = channels ? gate({t, s.heads, s.key_dim}) : gate({t, s.heads});
    const auto spans = static_cast<int64_t>(s.lengths.size());
    return {
        .rows =
            {rows(s.key_heads, s.key_dim),
             rows(s.key_heads, s.key_dim),
             rows(s.heads, s.value_dim),
             decay * -s.decay,
             gate({t, s.heads})},
        .states = {},
        .d_out = rows(s.heads, s.value_dim),
        .d_states =
            test_tensor({spans, s.heads, s.key_dim, s.value_dim}, at::kFloat, 0.3)};
  }
};

Tensor whole_rows(const Shape& shape, const DeltaRuleInputs& in) {
  OpContext context;
  const SequenceContext sequence = SequenceContext::packed(shape.lengths);
  return delta_rule(in, sequence, shape.options(), context, "core");
}

TEST_P(DeltaRuleTest, ValueAndGradientsMatchTheOracle) {
  const Shape shapes[] = {
      {{130}, 1, 1, 16, 16, 0.1},
      {kMixedLengths, 4, 2, 32, 16, 0.5},
      {{100, 20}, 2, 2, 64, 128, 5},
      {{70}, 3, 1, 24, 40, 0.01},
      {{129}, 2, 1, 128, 128, 0.2},
      {{90}, 1, 1, 7, 5, 1}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << "Dk " << shape.key_dim << ", " << shape.tokens());
    const Inputs in = inputs(shape);
    const SequenceContext sequence = SequenceContext::packed(shape.lengths);
    const Results got = ours(shape, in);
    const Results library = plain(shape, in, sequence);
    const Results expected = exact(shape, in, sequence);
    for (size_t i = 0; i + 1 < got.size(); ++i) {
      ASSERT_EQ(got[i].scalar_type(), library[i].scalar_type());
      EXPECT_TRUE(no_worse(got[i], library[i], expected[i], floor_of(i))) << kNames[i];
    }
  }
}

// Strong and weak decays of neighbouring channels, zero and whole resets among them.
TEST_P(DeltaRuleTest, DecaysOfAnySizeMatchTheOracle) {
  const Shape shape{{150}, 2, 1, 32, 32, 1};
  Inputs in = inputs(shape);
  Tensor& g = in.rows.log_decay;
  for (int64_t t = 0; t < 150; ++t) {
    g[t].mul_(std::array{0.0, 1e-3, 1.0, 20.0}[t % 4]);
  }
  g[70].fill_(-200);
  g[100].fill_(-INFINITY);
  const SequenceContext sequence = SequenceContext::packed(shape.lengths);
  const Results got = ours(shape, in);
  const Results library = plain(shape, in, sequence);
  const Results expected = exact(shape, in, sequence);
  for (const size_t i : {0, 1, 2, 3, 4, 6}) {
    EXPECT_TRUE(no_worse(got[i], library[i], expected[i], floor_of(i))) << kNames[i];
  }
  EXPECT_TRUE(got[5].isfinite().all().item<bool>());
}

TEST_P(DeltaRuleTest, ADocumentHasTheSameBitsAloneAndPackedAtAnyThreadCount) {
  for (const Shape& shape :
       {Shape{kMixedLengths, 4, 2, 32, 16, 0.5}, Shape{{40, 100}, 3, 3, 24, 64, 2}}) {
    const Inputs in = inputs(shape);
    const ThreadCount two(2);
    const Results packed = ours(shape, in);
    for (const int threads : {1, 2, 3}) {
      const ThreadCount count(threads);
      const Results again = ours(shape, in);
      for (size_t i = 0; i + 1 < again.size(); ++i) {
        EXPECT_TRUE(same_bits(again[i], packed[i])) << kNames[i] << " " << threads;
      }
    }
    int64_t row = 0;
    for (size_t d = 0; d < shape.lengths.size(); ++d) {
      Shape alone = shape;
      alone.lengths = {shape.lengths[d]};
      const auto span = static_cast<int64_t>(d);
      const int64_t length = shape.lengths[d];
      const Results single = ours(
          alone,
          {narrow(in.rows, row, length),
           {},
           in.d_out.narrow(0, row, length),
           in.d_states.narrow(0, span, 1)});
      for (size_t i = 0; i + 1 < single.size(); ++i) {
        const Tensor part =
            i == 1 ? packed[i].narrow(0, span, 1) : packed[i].narrow(0, row, length);
        EXPECT_TRUE(same_bits(single[i], part))
            << kNames[i] << " of the document of " << length;
      }
      row += length;
    }
  }
}

// Feeds a sequence to one of two slots in parts of the given lengths.
Tensor in_parts(
    const Shape& shape, const DeltaRuleInputs& in, const std::vector<int64_t>& lengths) {
  const int64_t size = delta_rule_memory_size(shape.key_dim, shape.value_dim);
  const DeltaRuleCache cache{
      at::full({2, shape.heads, size}, NAN, at::kFloat), std::vector<int64_t>{1}};
  std::vector<Tensor> outs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const SequenceContext step{
        {{.query_begin = 0, .query_length = length, .position = begin}}};
    outs.push_back(
        delta_rule_cached(narrow(in, begin, length), step, shape.options(), cache));
    begin += length;
  }
  EXPECT_TRUE(cache.memory[0].isnan().all().item<bool>());
  return at::cat(outs);
}

TEST_P(DeltaRuleTest, AnyChunkOfAPromptHasTheBitsOfTheWhole) {
  const std::vector<std::vector<int64_t>> splits = {
      {300},
      {1, 299},
      {64, 236},
      {100, 100, 100},
      {63, 1, 64, 65, 107},
      {15, 1, 16, 17, 3, 28, 220},
      {128, 128, 44},
      {255, 45}};
  for (const Shape& shape :
       {Shape{{300}, 4, 2, 32, 16, 0.5},
        Shape{{300}, 2, 2, 128, 128, 0.1},
        Shape{{300}, 2, 1, 24, 40, 5}}) {
    const Inputs in = inputs(shape);
    const Tensor whole = whole_rows(shape, in.rows);
    for (const auto& split : splits) {
      EXPECT_TRUE(same_bits(in_parts(shape, in.rows, split), whole))
          << "first part " << split[0] << ", Dk " << shape.key_dim;
    }
  }
}

TEST_P(DeltaRuleTest, DecodingRowByRowHasTheBitsOfTheWhole) {
  for (const Shape& shape :
       {Shape{{200}, 4, 2, 16, 32, 0.5}, Shape{{150}, 2, 1, 128, 128, 3}}) {
    const Inputs in = inputs(shape);
    const Tensor whole = whole_rows(shape, in.rows);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      const std::vector<int64_t> ones(static_cast<size_t>(shape.tokens()), 1);
      EXPECT_TRUE(same_bits(in_parts(shape, in.rows, ones), whole));
    }
  }
}

TEST_P(DeltaRuleTest, ARowHasTheSameBitsAmongAnyNumberOfRows) {
  const Shape shape{{512}, 2, 1, 32, 32, 0.5};
  const Inputs in = inputs(shape);
  const Tensor whole = whole_rows(shape, in.rows);
  for (const int64_t m : {1, 2, 3, 7, 8, 16, 31, 33, 44, 45, 64, 255, 256, 257, 512}) {
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      std::vector<int64_t> parts(static_cast<size_t>(512 / m), m);
      if (512 % m > 0) {
        parts.push_back(512 % m);
      }
      EXPECT_TRUE(same_bits(in_parts(shape, in.rows, parts), whole)) << m << " rows";
    }
  }
}

// Two sequences of one step: one goes on at position 100, one starts anew in a used slot.
// A copy of a slot continues as the original.
TEST_P(DeltaRuleTest, SequencesOfOneStepKeepToTheirSlots) {
  const Shape shape{{130, 90}, 4, 2, 32, 32, 0.5};
  const Inputs in = inputs(shape);
  const Tensor whole = whole_rows(shape, in.rows);
  const int64_t size = delta_rule_memory_size(32, 32);
  DeltaRuleCache cache{at::full({3, 4, size}, NAN, at::kFloat), {2}};
  const auto feed = [&](const DeltaRuleInputs& rows,
                        const std::vector<SequenceSpan>& spans) {
    return delta_rule_cached(rows, {spans}, shape.options(), cache);
  };
  feed(narrow(in.rows, 0, 100), {{.query_begin = 0, .query_length = 100}});
  cache.memory[0].copy_(cache.memory[2]);
  cache.slots = {0, 2};
  const DeltaRuleInputs step = narrow(in.rows, 100, 120);
  const Tensor out = feed(
      step,
      {{.query_begin = 0, .query_length = 30, .position = 100},
       {.query_begin = 30, .query_length = 90, .position = 0}});
  EXPECT_TRUE(same_bits(out, whole.narrow(0, 100, 120)));
}

// A document cut at position 128: values, and gradients through the state, are those of
// the whole.
TEST_P(DeltaRuleTest, APartContinuesFromAState) {
  const Shape shape{{200}, 4, 2, 32, 16, 0.3};
  const Inputs in = inputs(shape);
  const Results whole = ours(shape, in);
  const SequenceContext head = SequenceContext::packed({128});
  const SequenceContext tail{{{.query_begin = 0, .query_length = 72, .position = 128}}};
  const Inputs first{
      narrow(in.rows, 0, 128), {}, in.d_out.narrow(0, 0, 128), in.d_states};
  const Tensor state = ours(shape, first, head)[1];
  const Inputs second{
      narrow(in.rows, 128, 72), state, in.d_out.narrow(0, 128, 72), in.d_states};
  const Results end = ours(shape, second, tail);
  const Results begin = ours(shape, {first.rows, {}, first.d_out, end[7]}, head);
  EXPECT_TRUE(same_bits(at::cat({begin[0], end[0]}), whole[0]));
  EXPECT_TRUE(same_bits(end[1], whole[1]));
  for (size_t i = 2; i < 7; ++i) {
    EXPECT_TRUE(same_bits(at::cat({begin[i], end[i]}), whole[i])) << kNames[i];
  }
  const Results library = plain(shape, second, tail);
  EXPECT_TRUE(no_worse(end[7], library[7], exact(shape, second, tail)[7], floor_of(7)));
}

// A state given to a span at position 0 counts for nothing.
TEST_P(DeltaRuleTest, ADocumentStartResets) {
  const Shape shape{{70}, 2, 2, 16, 16, 0.3};
  Inputs in = inputs(shape);
  const Results expected = ours(shape, in);
  in.states = at::full({1, 2, 16, 16}, NAN, at::kFloat);
  const Results got = ours(shape, in);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(same_bits(got[i], expected[i])) << kNames[i];
  }
  EXPECT_TRUE(got[7].eq(0).all().item<bool>());
}

TEST_P(DeltaRuleTest, ADocumentDoesNotSeeItsNeighbour) {
  const Shape shape{{65, 100}, 2, 1, 32, 32, 0.5};
  const Inputs in = inputs(shape);
  const Results before = ours(shape, in);
  for (const Tensor& x : {in.rows.query, in.rows.key, in.rows.value, in.d_out}) {
    x.narrow(0, 0, 65).fill_(NAN);
  }
  const Results after = ours(shape, in);
  for (size_t i = 0; i < 7; ++i) {
    const int64_t row = i == 1 ? 1 : 65;
    EXPECT_TRUE(same_bits(after[i].slice(0, row), before[i].slice(0, row))) << kNames[i];
  }
}

// Views into one projection, and the gradient of a transposed use.
TEST_P(DeltaRuleTest, StridesDoNotMatter) {
  const Shape shape{{100}, 4, 2, 32, 16, 0.5};
  const Inputs in = inputs(shape);
  const Results expected = ours(shape, in);
  const auto flat = [](const Tensor& x) { return x.reshape({x.size(0), -1}); };
  const Tensor row =
      at::cat({flat(in.rows.query), flat(in.rows.key), flat(in.rows.value)}, 1);
  Inputs views = in;
  views.rows.query = row.narrow(1, 0, 64).view({100, 2, 32});
  views.rows.key = row.narrow(1, 64, 64).view({100, 2, 32});
  views.rows.value = row.narrow(1, 128, 64).view({100, 4, 16});
  views.d_out = in.d_out.transpose(0, 2).contiguous().transpose(0, 2);
  const Results got = ours(shape, views);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(same_bits(got[i], expected[i])) << kNames[i];
  }
}

TEST_P(DeltaRuleTest, RepeatsHaveTheSameBits) {
  const Shape shape{{100, 70}, 4, 2, 32, 32, 0.5};
  const Inputs in = inputs(shape);
  const Results first = ours(shape, in);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Results again = ours(shape, in);
    for (size_t i = 0; i < 7; ++i) {
      ASSERT_TRUE(same_bits(again[i], first[i])) << kNames[i];
    }
  }
}

TEST_P(DeltaRuleTest, AReplayTakesTheRecordedResult) {
  const Shape shape{{100}, 2, 2, 32, 32, 0.5};
  const Inputs in = inputs(shape);
  const SequenceContext sequence = SequenceContext::packed(shape.lengths);
  RematFrame frame({"delta.*"});
  OpContext context{.remat = &frame};
  const auto run = [&] {
    const DeltaRuleInputs leaves =
        map(in.rows, [](const Tensor& x) { return x.detach().set_requires_grad(true); });
    const Tensor out =
        delta_rule(leaves, sequence, shape.options(), context, "delta.core");
    return std::pair(
        out.detach(), torch::autograd::grad({out}, {leaves.key}, {in.d_out}).at(0));
  };
  const auto expected = run();
  frame.set_phase(RematFrame::Phase::kRecord);
  const auto recorded = run();
  EXPECT_EQ(frame.held_bytes(), static_cast<int64_t>(recorded.first.nbytes()));
  frame.set_phase(RematFrame::Phase::kReplay);
  const auto replayed = run();
  EXPECT_EQ(replayed.first.const_data_ptr(), recorded.first.const_data_ptr());
  EXPECT_TRUE(same_bits(replayed.first, expected.first));
  EXPECT_TRUE(same_bits(replayed.second, expected.second));
}

TEST_P(DeltaRuleTest, NoRowsGiveNoRows) {
  const Shape shape{{}, 4, 2, 32, 16, 0.5};
  const Results results = ours(shape, inputs(shape));
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({0, 4, 16}));
  EXPECT_EQ(results[1].sizes(), at::IntArrayRef({0, 4, 32, 16}));
  const Results empty_document =
      ours({{0, 3}, 4, 2, 32, 16, 0.5}, inputs({{0, 3}, 4, 2, 32, 16, 0.5}));
  EXPECT_TRUE(empty_document[1][0].eq(0).all().item<bool>());
}

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST_P(DeltaRuleTest, RefusesInputsThatDoNotFit) {
  const Shape shape{{10}, 4, 2, 16, 16, 0.5};
  const DeltaRuleInputs good = inputs(shape).rows;
  const auto refusal = [&](const auto& spoil) {
    DeltaRuleInputs in = good;
    SequenceContext sequence = SequenceContext::packed({10});
    spoil(in, sequence);
    return message_of([&] { delta_rule_with_states(in, {}, sequence, shape.options()); });
  };
  EXPECT_EQ(
      refusal([](auto& in, auto&) { in.key = in.key.to(at::kDouble); }),
      "[delta_rule] expected query, key and value all fp32 or all bf16, got " +
          std::string(at::toString(dtype())) + ", Double and " +
          std::string(at::toString(dtype())));
  EXPECT_EQ(
      refusal([](auto& in, auto&) { in.value = in.value.narrow(1, 0, 3); }),
      "[delta_rule] expected query and key [T, G, Dk] and value [T, H, Dv] with H a "
      "multiple of G, got [10, 2, 16], [10, 2, 16] and [10, 3, 16]");
  EXPECT_EQ(
      refusal([](auto& in, auto&) { in.log_decay = in.log_decay.narrow(0, 0, 9); }),
      "[delta_rule] expected contiguous fp32 log decays [10, 4] or [10, 4, 16], got "
      "Float " +
          std::string(std::get<1>(GetParam()) ? "[9, 4, 16]" : "[9, 4]"));
  EXPECT_EQ(
      refusal([](auto& in, auto&) { in.beta = in.beta.narrow(1, 0, 2); }),
      "[delta_rule] expected contiguous fp32 beta [10, 4], got Float [10, 2]");
  EXPECT_EQ(
      refusal([](auto&, auto& s) {
        s = SequenceContext::packed({4, 5});
      }),
      "[delta_rule] the spans cover 9 rows of 10");
  EXPECT_EQ(
      refusal([](auto&, auto& s) { s.spans[0].position = 32; }),
      "[delta_rule] expected positions that are multiples of 64, but the span at row 0 "
      "starts at position 32");
  EXPECT_EQ(
      refusal([](auto&, auto& s) { s.spans[0].position = 64; }),
      "[delta_rule] the span at row 0 starts at position 64 without a state");
}

TEST_P(DeltaRuleTest, RefusesACacheThatDoesNotFit) {
  const Shape shape{{6, 4}, 4, 2, 16, 16, 0.5};
  const DeltaRuleInputs in = inputs(shape).rows;
  const int64_t size = delta_rule_memory_size(16, 16);
  const auto refusal = [&](int64_t floats, const std::vector<int64_t>& slots) {
    const DeltaRuleCache cache{at::zeros({2, 4, floats}), slots};
    return message_of([&] {
      delta_rule_cached(
          in, SequenceContext::packed(shape.lengths), shape.options(), cache);
    });
  };
  EXPECT_EQ(
      refusal(7, {0, 1}),
      "[delta_rule] expected contiguous fp32 memory [slots, 4, " + std::to_string(size) +
          "], got Float [2, 4, 7]");
  EXPECT_EQ(
      refusal(size, {0}), "[delta_rule] expected a slot for each of 2 spans, got 1");
  EXPECT_EQ(refusal(size, {1, 1}), "[delta_rule] expected different slots of 2, got 1 1");
  EXPECT_EQ(refusal(size, {0, 2}), "[delta_rule] expected different slots of 2, got 0 2");
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    DeltaRuleTest,
    testing::Combine(testing::Values(at::kFloat, at::kBFloat16), testing::Bool()),
    [](const auto& info) {
      return std::string(at::toString(std::get<0>(info.param))) +
             (std::get<1>(info.param) ? "Channels" : "Heads");
    });

}  // namespace
}  // namespace titan::ops
