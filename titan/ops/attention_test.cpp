#include "titan/ops/attention.h"

#include <array>

#include "titan/ops/attention_test_cases.h"

namespace titan::ops {
namespace {

using AttentionTest = AttentionCase;
using Shape = AttentionShape;

Results ours(const Shape& shape, const AttentionInputs& in, const Tensor& grad) {
  return differentiate(in, grad, SequenceContext::packed(shape.lengths), shape.rule());
}

// The plain form in fp64.
Results plain_results(const Shape& shape, const AttentionInputs& in, const Tensor& grad) {
  const auto wide = [](const Tensor& x) { return x.to(at::kDouble); };
  return differentiate(
      {wide(in.query), wide(in.key), wide(in.value)},
      wide(grad),
      [&](const AttentionInputs& x) {
        return attention_plain(x, SequenceContext::packed(shape.lengths), shape.rule())
            .out;
      });
}

// PyTorch's kernel, one document at a time. It wants equal widths: zero columns change
// nothing.
Tensor library_attention(const Shape& shape, const AttentionInputs& in) {
  const int64_t group = shape.heads / shape.kv_heads;
  const int64_t width = std::max(shape.key_dim, shape.value_dim);
  std::vector<Tensor> outs;
  int64_t row = 0;
  for (const int64_t length : shape.lengths) {
    const auto document = [&](const Tensor& x) {
      const Tensor padded = at::constant_pad_nd(x, {0, width - x.size(2)});
      return padded.slice(0, row, row + length).transpose(0, 1).unsqueeze(0);
    };
    const Tensor out = at::scaled_dot_product_attention(
        document(in.query),
        document(in.key).repeat_interleave(group, 1),
        document(in.value).repeat_interleave(group, 1),
        {},
        0.0,
        /*is_causal=*/true,
        shape.scale());
    outs.push_back(out.squeeze(0).transpose(0, 1));
    row += length;
  }
  return at::cat(outs, 0).narrow(2, 0, shape.value_dim);
}

Tensor forward(const Shape& shape, const AttentionInputs& in) {
  return forward(in, SequenceContext::packed(shape.lengths), shape.rule());
}

TEST_P(AttentionTest, ValueAndGradientsMatchTheOracle) {
  const Shape shapes[] = {
      {{300}, 2, 2, 8, 8},
      {{1, 129}, 4, 2, 16, 16},
      {{257, 31}, 3, 1, 24, 24},
      {kMixedLengths, 6, 2, 64, 64},
      {{600}, 4, 1, 80, 80},
      {{5, 513}, 2, 2, 128, 128},
      {{130, 70}, 4, 4, 192, 128},
      {{100, 300}, 2, 1, 48, 72},
      {{40}, 1, 1, 320, 256},
      {{77}, 2, 1, 33, 7}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(
        testing::Message() << "D " << shape.key_dim << " Dv " << shape.value_dim);
    const AttentionInputs in = inputs(shape);
    const Tensor grad = output_gradient(shape);
    const Results got = ours(shape, in, grad);
    const Results library = differentiate(
        in, grad, [&](const AttentionInputs& x) { return library_attention(shape, x); });
    const Results exact = plain_results(shape, in, grad);
    for (size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(kNames[i]);
      ASSERT_EQ(got[i].scalar_type(), GetParam());
      EXPECT_TRUE(no_worse(got[i], library[i], exact[i]));
    }
  }
}

// One chain of 512 additions a score: here the fp32 error is a little above the
// library's.
TEST_P(AttentionTest, HeadsOf512) {
  const Shape shape{{140}, 2, 1, 512, 512};
  const AttentionInputs in = inputs(shape);
  const Tensor grad = output_gradient(shape);
  const Results got = ours(shape, in, grad);
  const Results exact = plain_results(shape, in, grad);
  const double bound = GetParam() == at::kFloat ? 1e-6 : 4e-3;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(relative_error(got[i], exact[i]), bound) << kNames[i];
  }
}

TEST_P(AttentionTest, ADocumentHasTheSameBitsAloneAndPackedAtAnyThreadCount) {
  for (const auto& [heads, kv_heads, key_dim, value_dim] :
       {std::array<int64_t, 4>{6, 2, 64, 64}, {4, 1, 24, 40}, {2, 2, 80, 80}}) {
    const Shape shape{kMixedLengths, heads, kv_heads, key_dim, value_dim};
    const AttentionInputs in = inputs(shape);
    const Tensor grad = output_gradient(shape);
    const ThreadCount two(2);
    const Results packed = ours(shape, in, grad);
    for (const int threads : {1, 2, 3}) {
      const ThreadCount count(threads);
      const Results again = ours(shape, in, grad);
      for (size_t i = 0; i < again.size(); ++i) {
        EXPECT_TRUE(same_bits(again[i], packed[i])) << kNames[i] << " " << threads;
      }
      int64_t row = 0;
      for (const int64_t length : shape.lengths) {
        Shape alone = shape;
        alone.lengths = {length};
        const auto document = [&](const Tensor& x) { return x.narrow(0, row, length); };
        const Results single = ours(
            alone,
            {document(in.query), document(in.key), document(in.value)},
            document(grad));
        for (size_t i = 0; i < single.size(); ++i) {
          EXPECT_TRUE(same_bits(single[i], document(packed[i])))
              << kNames[i] << " of the document of " << length << ", " << threads
              << " threads";
        }
        row += length;
      }
    }
  }
}

// The rows [begin, end) of a sequence whose keys stand in a larger cache, between rows
// that nothing may read.
Tensor from_cache(
    const Shape& shape, const AttentionInputs& in, int64_t begin, int64_t end) {
  constexpr int64_t kOffset = 37;
  const auto cached = [&](const Tensor& x) {
    Tensor cache = at::full({kOffset + end + 20, x.size(1), x.size(2)}, NAN, x.options());
    cache.narrow(0, kOffset, end).copy_(x.narrow(0, 0, end));
    return cache;
  };
  const SequenceContext sequence{
      {{.query_begin = 0,
        .query_length = end - begin,
        .position = begin,
        .key_begin = kOffset}}};
  return forward(
      {in.query.slice(0, begin, end), cached(in.key), cached(in.value)},
      sequence,
      shape.rule());
}

TEST_P(AttentionTest, AnyChunkOfAPromptHasTheBitsOfTheWhole) {
  for (const auto& [heads, kv_heads, width] :
       {std::array<int64_t, 3>{4, 2, 16}, {3, 1, 64}, {4, 1, 128}, {2, 2, 40}}) {
    const Shape shape{{700}, heads, kv_heads, width, width};
    const AttentionInputs in = inputs(shape);
    const Tensor whole = forward(shape, in);
    const std::vector<std::vector<int64_t>> splits = {
        {1, 699},
        {64, 636},
        {100, 300, 300},
        {128, 128, 444},
        {511, 1, 188},
        {255, 257, 188},
        {17, 83, 13, 200, 387},
        {512, 188}};
    for (const auto& split : splits) {
      int64_t begin = 0;
      for (const int64_t length : split) {
        EXPECT_TRUE(same_bits(
            from_cache(shape, in, begin, begin + length), whole.narrow(0, begin, length)))
            << "rows from " << begin << ", " << length << " of them, D " << width;
        begin += length;
      }
    }
  }
}

TEST_P(AttentionTest, ARowHasTheSameBitsAmongAnyNumberOfRows) {
  const Shape shape{{512}, 6, 2, 64, 64};
  const AttentionInputs in = inputs(shape);
  const Tensor whole = forward(shape, in);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    for (const int64_t m : kRowCounts) {
      for (const int64_t begin : {int64_t{0}, (512 - m) / 2, 512 - m}) {
        EXPECT_TRUE(
            same_bits(from_cache(shape, in, begin, begin + m), whole.narrow(0, begin, m)))
            << m << " rows from " << begin << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(AttentionTest, DecodingRowByRowHasTheBitsOfTheWhole) {
  const Shape shape{{600}, 6, 2, 24, 16};
  const AttentionInputs in = inputs(shape);
  const Tensor whole = forward(shape, in);
  for (int64_t row = 0; row < 600; ++row) {
    const SequenceContext sequence{
        {{.query_begin = 0, .query_length = 1, .position = row, .key_begin = 0}}};
    ASSERT_TRUE(same_bits(
        forward({in.query.narrow(0, row, 1), in.key, in.value}, sequence, shape.rule()),
        whole.narrow(0, row, 1)))
        << row;
  }
}

TEST_P(AttentionTest, SequencesOfOneStepDoNotSeeEachOther) {
  // Two prompts share one cache; the step decodes one row of the first, 70 of the second.
  const Shape shape{{200, 400}, 4, 2, 64, 64};
  const AttentionInputs in = inputs(shape);
  const Tensor whole = forward(shape, in);
  const SequenceContext step{
      {{.query_begin = 0, .query_length = 1, .position = 199, .key_begin = 0},
       {.query_begin = 1, .query_length = 70, .position = 330, .key_begin = 200}}};
  const Tensor rows = at::cat({in.query.narrow(0, 199, 1), in.query.narrow(0, 530, 70)});
  const Tensor out = forward({rows, in.key, in.value}, step, shape.rule());
  EXPECT_TRUE(same_bits(out.narrow(0, 0, 1), whole.narrow(0, 199, 1)));
  EXPECT_TRUE(same_bits(out.narrow(0, 1, 70), whole.narrow(0, 530, 70)));
}

TEST_P(AttentionTest, ADocumentDoesNotSeeItsNeighbour) {
  const Shape shape{{65, 200}, 4, 2, 64, 64};
  AttentionInputs in = inputs(shape);
  const Tensor grad = output_gradient(shape);
  const Results before = ours(shape, in, grad);
  for (const Tensor& x : {in.query, in.key, in.value, grad}) {
    x.narrow(0, 0, 65).fill_(NAN);
  }
  const Results after = ours(shape, in, grad);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(same_bits(after[i].narrow(0, 65, 200), before[i].narrow(0, 65, 200)))
        << kNames[i];
    EXPECT_TRUE(after[i].narrow(0, 0, 65).isnan().all().item<bool>()) << kNames[i];
  }
}

TEST_P(AttentionTest, AValueThatIsNotFiniteStaysWithTheRowsThatSeeIt) {
  for (const int64_t length : {100, 300, 700}) {
    const Shape shape{{length}, 6, 2, 64, 64};
    const Tensor clean_value = inputs(shape).value;
    const AttentionInputs clean = inputs(shape);
    const Tensor expected = forward(shape, clean);
    for (const float bad : {kInfinity, -kInfinity, NAN}) {
      for (const bool in_key : {false, true}) {
        AttentionInputs in{clean.query, clean.key.clone(), clean.value.clone()};
        (in_key ? in.key : in.value)[70].fill_(bad);
        const Tensor out = forward(shape, in);
        EXPECT_TRUE(same_bits(out.narrow(0, 0, 70), expected.narrow(0, 0, 70)))
            << bad << (in_key ? " in a key" : " in a value") << ", length " << length;
        if (!in_key) {
          EXPECT_FALSE(out.narrow(0, 70, length - 70).isfinite().any().item<bool>());
        }
      }
    }
  }
}

TEST_P(AttentionTest, RepeatsHaveTheSameBits) {
  const Shape shape{{300, 90}, 6, 2, 64, 64};
  const AttentionInputs in = inputs(shape);
  const Tensor grad = output_gradient(shape);
  const Results first = ours(shape, in, grad);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Results again = ours(shape, in, grad);
    for (size_t i = 0; i < first.size(); ++i) {
      ASSERT_TRUE(same_bits(again[i], first[i])) << kNames[i];
    }
  }
}

TEST_P(AttentionTest, AReplayTakesTheRecordedResult) {
  const Shape shape{{100, 60}, 4, 2, 32, 32};
  const AttentionInputs in = inputs(shape);
  const Tensor grad = output_gradient(shape);
  const SequenceContext sequence = SequenceContext::packed(shape.lengths);
  const Results expected = ours(shape, in, grad);

  RematFrame frame({"attention.*"});
  OpContext context{.defer = nullptr, .remat = &frame};
  frame.set_phase(RematFrame::Phase::kRecord);
  const Tensor recorded =
      attention(in, sequence, shape.rule(), context, "attention.core");
  EXPECT_TRUE(same_bits(recorded, expected[0]));
  const int64_t lse_bytes = shape.heads * shape.tokens() * 4;
  EXPECT_EQ(frame.held_bytes(), static_cast<int64_t>(recorded.nbytes()) + lse_bytes);

  frame.set_phase(RematFrame::Phase::kReplay);
  const Results replayed = differentiate(in, grad, [&](const AttentionInputs& x) {
    return attention(x, sequence, shape.rule(), context, "attention.core");
  });
  EXPECT_EQ(replayed[0].const_data_ptr(), recorded.const_data_ptr());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_bits(replayed[i], expected[i])) << kNames[i];
  }
}

TEST_P(AttentionTest, NoRowsGiveNoRows) {
  const Shape shape{{}, 4, 2, 32, 16};
  const Results results = ours(shape, inputs(shape), output_gradient(shape));
  EXPECT_EQ(results[0].sizes(), at::IntArrayRef({0, 4, 16}));
  EXPECT_EQ(results[2].sizes(), at::IntArrayRef({0, 2, 32}));
}

TEST_P(AttentionTest, RefusesInputsThatDoNotFit) {
  const Shape shape{{10}, 4, 2, 16, 16};
  const AttentionInputs in = inputs(shape);
  const SequenceContext packed = SequenceContext::packed({10});
  const auto refused = [&](const AttentionInputs& x, const SequenceContext& sequence) {
    return refusal(x, sequence, shape.rule());
  };
  EXPECT_EQ(
      refused({in.query.to(at::kDouble), in.key, in.value}, packed),
      "[attention] expected fp32 or bf16, got Double");
  EXPECT_EQ(
      refused(
          {in.query.transpose(1, 2).contiguous().transpose(1, 2), in.key, in.value},
          packed),
      "[attention] expected contiguous rows of query, key and value, got strides [64, 1, "
      "4], [32, 16, 1] and [32, 16, 1]");
  EXPECT_EQ(
      refused({random({10, 3, 16}), in.key, in.value}, packed),
      "[attention] shapes do not fit: query [10, 3, 16], key [10, 2, 16], value [10, 2, "
      "16]");
  EXPECT_EQ(
      refused(in, SequenceContext::packed({4, 5})),
      "[attention] the spans cover 9 rows of 10");
  EXPECT_EQ(
      refused(
          in, {{{.query_begin = 0, .query_length = 10, .position = 3, .key_begin = 0}}}),
      "[attention] the sequence at row 0 needs keys [0, 13), but there are 10");
}

TEST_P(AttentionTest, RefusesRulesWithoutSense) {
  const Shape shape{{10}, 4, 2, 16, 16};
  const AttentionInputs in = inputs(shape);
  const auto refused = [&](const AttentionRule& rule) {
    return refusal(in, SequenceContext::packed({10}), rule);
  };
  EXPECT_EQ(refused({}), "[attention] expected scale > 0, got 0");
  EXPECT_EQ(
      refused({.scale = 1, .window = -1}), "[attention] expected window >= 0, got -1");
  EXPECT_EQ(
      refused({.scale = 1, .causal = false, .window = 4}),
      "[attention] a window needs causal attention");
  EXPECT_EQ(
      refused({.scale = 1, .soft_cap = -2}),
      "[attention] expected soft_cap >= 0, got -2");
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    AttentionTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(at::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
