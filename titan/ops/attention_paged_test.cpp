#include <algorithm>
#include <sys/mman.h>

#include "titan/ops/attention_test_cases.h"

namespace titan::ops {
namespace {

using Shape = AttentionShape;
using AttentionPagedTest = AttentionCase;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// `count` of twice as many blocks, out of order.
std::vector<int32_t> scattered_blocks(int64_t count) {
  std::vector<int32_t> blocks;
  for (int64_t i = 0; i < count; ++i) {
    blocks.push_back(static_cast<int32_t>(2 * i + 1));
  }
  std::reverse(blocks.begin() + count / 3, blocks.end());
  return blocks;
}

// A cache whose blocks are written as a generator would; what it does not write is NaN.
class Cache {
 public:
  Cache(const AttentionInputs& in, int64_t blocks, int64_t block_size)
      : in_(in), block_size_(block_size), blocks_(scattered_blocks(blocks)) {
    const int64_t rows =
        (*std::max_element(blocks_.begin(), blocks_.end()) + 1) * block_size;
    const auto empty = [&](const Tensor& x) {
      return at::full({rows, x.size(1), x.size(2)}, NAN, x.options());
    };
    key_ = empty(in.key);
    value_ = empty(in.value);
  }

  // Writes the keys of the positions [begin, end) and attends from these positions.
  Tensor step(int64_t begin, int64_t end, const AttentionRule& rule) {
    const SequenceContext sequence{
        {{.query_begin = 0,
          .query_length = end - begin,
          .position = begin,
          .blocks = blocks_}},
        block_size_};
    const KeyRows rows = sequence.key_rows(sequence.spans[0]);
    for (int64_t p = begin; p < end;) {
      const KeyRun run = rows.run({p, end});
      key_.narrow(0, run.row, run.length).copy_(in_.key.narrow(0, p, run.length));
      value_.narrow(0, run.row, run.length).copy_(in_.value.narrow(0, p, run.length));
      p += run.length;
    }
    return forward(
        {in_.query.narrow(0, begin, end - begin), key_, value_}, sequence, rule);
  }

 private:
  AttentionInputs in_;
  int64_t block_size_;
  std::vector<int32_t> blocks_;
  Tensor key_, value_;
};

// A prompt in chunks of the given lengths, the rest decoded row by row.
void expect_bits_of_whole(
    Cache& cache,
    const Tensor& whole,
    const std::vector<int64_t>& chunks,
    const AttentionRule& rule) {
  int64_t begin = 0;
  for (const int64_t length : chunks) {
    ASSERT_TRUE(same_bits(
        cache.step(begin, begin + length, rule), whole.narrow(0, begin, length)))
        << length << " rows from " << begin;
    begin += length;
  }
  for (; begin < whole.size(0); ++begin) {
    ASSERT_TRUE(same_bits(cache.step(begin, begin + 1, rule), whole.narrow(0, begin, 1)))
        << "row " << begin;
  }
}

TEST_P(AttentionPagedTest, BlocksOfAnySizeGiveTheBitsOfTheWhole) {
  for (const Shape& shape :
       {Shape{{600}, 6, 2, 64, 64},
        Shape{{560}, 3, 1, 16, 24},
        Shape{{600}, 2, 2, 80, 80}}) {
    const AttentionInputs in = inputs(shape);
    const int64_t length = shape.tokens();
    const Tensor whole = forward(in, SequenceContext::packed({length}), shape.rule());
    for (const int64_t block_size : {1, 5, 16, 64, 300}) {
      SCOPED_TRACE(testing::Message() << "blocks of " << block_size);
      Cache cache(in, ceil_div(length, block_size) + 1, block_size);
      expect_bits_of_whole(cache, whole, {1, 100, 33, 257, 130}, shape.rule());
    }
  }
}

// The ring holds the window and the longest chunk; what is overwritten is out of sight.
TEST_P(AttentionPagedTest, ARingOfBlocksGivesTheBitsOfTheWhole) {
  const Shape shape{{900}, 4, 2, 64, 64};
  const AttentionInputs in = inputs(shape);
  for (const int64_t window : {1, 30, 128}) {
    const AttentionRule rule{.scale = shape.scale(), .window = window};
    const Tensor whole = forward(in, SequenceContext::packed({900}), rule);
    for (const int64_t block_size : {16, 40}) {
      SCOPED_TRACE(testing::Message() << window << " in blocks of " << block_size);
      Cache cache(in, ceil_div(window + 100, block_size) + 1, block_size);
      expect_bits_of_whole(
          cache, whole, {100, 100, 1, 17, 100, 64, 100, 100, 2, 98}, rule);
    }
  }
}

// The absorbed form of latent attention: one key head of 512 + 64 columns whose first 512
// are the value, shared by all query heads.
TEST_P(AttentionPagedTest, ALatentCacheGivesTheBitsOfTheWhole) {
  const Shape shape{{300}, 20, 1, 576, 512};
  AttentionInputs in = inputs(shape);
  in.value = in.key.narrow(2, 0, 512);
  const AttentionRule rule{.scale = 1 / std::sqrt(192.0)};
  const Tensor whole = forward(in, SequenceContext::packed({300}), rule);
  const auto wide = [](const Tensor& x) { return x.to(at::kDouble); };
  const Tensor exact = attention_plain(
                           {wide(in.query), wide(in.key), wide(in.value)},
                           SequenceContext::packed({300}),
                           rule)
                           .out;
  EXPECT_LT(relative_error(whole, exact), GetParam() == at::kFloat ? 2e-6 : 4e-3);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    const std::vector<int32_t> blocks = {4, 0, 3, 1, 6};
    Tensor latent = at::full({7 * 64, 1, 576}, NAN, in.key.options());
    for (int64_t i = 0; i < 5; ++i) {
      const int64_t rows = std::min<int64_t>(64, 300 - 64 * i);
      latent.narrow(0, blocks[i] * 64, rows).copy_(in.key.narrow(0, 64 * i, rows));
    }
    for (const auto& [begin, rows] :
         {std::pair<int64_t, int64_t>{0, 300}, {299, 1}, {150, 1}, {100, 7}, {60, 130}}) {
      const SequenceContext sequence{
          {{.query_begin = 0, .query_length = rows, .position = begin, .blocks = blocks}},
          64};
      const Tensor out = forward(
          {in.query.narrow(0, begin, rows), latent, latent.narrow(2, 0, 512)},
          sequence,
          rule);
      EXPECT_TRUE(same_bits(out, whole.narrow(0, begin, rows)))
          << rows << " rows from " << begin;
    }
  }
}

TEST_P(AttentionPagedTest, SequencesOfOneStepShareAPrefix) {
  const Shape shape{{200}, 4, 2, 64, 64};
  const AttentionInputs a = inputs(shape);
  AttentionInputs b = inputs(shape);
  for (const auto& [from, to] : {std::pair{a.key, b.key}, {a.value, b.value}}) {
    to.narrow(0, 0, 128).copy_(from.narrow(0, 0, 128));
  }
  const SequenceContext packed = SequenceContext::packed({200});
  const Tensor whole_a = forward(a, packed, shape.rule());
  const Tensor whole_b = forward(b, packed, shape.rule());
  // Blocks of 64: the first two of both, then two of a, then two of b.
  const auto cache = [](const Tensor& x, const Tensor& y) {
    const Tensor end = at::full({56, x.size(1), x.size(2)}, NAN, x.options());
    return at::cat({x, end, y.narrow(0, 128, 72), end});
  };
  const SequenceContext step{
      {{.query_begin = 0, .query_length = 1, .position = 199, .blocks = {0, 1, 2, 3}},
       {.query_begin = 1, .query_length = 70, .position = 130, .blocks = {0, 1, 4, 5}},
       {.query_begin = 71, .query_length = 1, .position = 5, .blocks = {0}}},
      64};
  const Tensor queries = at::cat(
      {a.query.narrow(0, 199, 1), b.query.narrow(0, 130, 70), a.query.narrow(0, 5, 1)});
  const Tensor out = forward(
      {queries, cache(a.key, b.key), cache(a.value, b.value)}, step, shape.rule());
  EXPECT_TRUE(same_bits(out.narrow(0, 0, 1), whole_a.narrow(0, 199, 1)));
  EXPECT_TRUE(same_bits(out.narrow(0, 1, 70), whole_b.narrow(0, 130, 70)));
  EXPECT_TRUE(same_bits(out.narrow(0, 71, 1), whole_a.narrow(0, 5, 1)));
}

// Query, key and value as they leave one joint projection.
TEST_P(AttentionPagedTest, ViewsOfOneTensorGiveTheSameBits) {
  const Shape shape{{150, 40}, 4, 2, 32, 32};
  const AttentionInputs in = inputs(shape);
  const Tensor grad = output_gradient(shape);
  const SequenceContext sequence = SequenceContext::packed(shape.lengths);
  const Tensor joint = at::cat({in.query, in.key, in.value}, 1);
  const Results expected = differentiate(in, grad, sequence, shape.rule());
  const Results got = differentiate(
      {joint.narrow(1, 0, 4), joint.narrow(1, 4, 2), joint.narrow(1, 6, 2)},
      grad,
      sequence,
      shape.rule());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(same_bits(got[i], expected[i])) << kNames[i];
  }
}

// Memory of which only the pages that are touched exist.
class SparseTensor {
 public:
  SparseTensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
    for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
      bytes_ += (sizes[i] - 1) * strides[i] * at::elementSize(type);
    }
    bytes_ += at::elementSize(type);
    data_ = mmap(
        nullptr,
        bytes_,
        PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1,
        0);
    if (data_ != MAP_FAILED) {
      tensor = at::from_blob(data_, sizes, strides, at::TensorOptions(type));
    }
  }

  ~SparseTensor() {
    if (data_ != MAP_FAILED) {
      munmap(data_, bytes_);
    }
  }

  SparseTensor(const SparseTensor&) = delete;
  SparseTensor& operator=(const SparseTensor&) = delete;

  Tensor tensor;  // undefined where there is no address space

 private:
  size_t bytes_ = 0;
  void* data_;
};

TEST_P(AttentionPagedTest, OffsetsBeyond31BitsAreReached) {
  const Shape shape{{100}, 2, 1, 64, 64};
  const AttentionInputs in = inputs(shape);
  const Tensor whole = forward(in, SequenceContext::packed({100}), shape.rule());
  constexpr int64_t kRows = (int64_t{1} << 31) / 64 + 1024;
  constexpr int64_t kBlocks = kRows / 64;
  SparseTensor key({kRows, 1, 64}, {64, 64, 1}, GetParam());
  SparseTensor value({kRows, 1, 64}, {64, 64, 1}, GetParam());
  SparseTensor query({100, 2, 64}, {int64_t{1} << 25, 64, 1}, GetParam());
  if (!key.tensor.defined() || !value.tensor.defined() || !query.tensor.defined()) {
    GTEST_SKIP() << "no address space for the sparse tensors";
  }
  for (const auto& [from, to] :
       {std::pair{in.key, key.tensor}, {in.value, value.tensor}}) {
    to.narrow(0, (kBlocks - 1) * 64, 64).copy_(from.narrow(0, 0, 64));
    to.narrow(0, (kBlocks - 3) * 64, 36).copy_(from.narrow(0, 64, 36));
  }
  query.tensor.copy_(in.query);
  const SequenceContext sequence{
      {{.query_begin = 0,
        .query_length = 100,
        .position = 0,
        .blocks = {int32_t{kBlocks - 1}, int32_t{kBlocks - 3}}}},
      64};
  EXPECT_TRUE(same_bits(
      forward({query.tensor, key.tensor, value.tensor}, sequence, shape.rule()), whole));
  const SequenceContext last{
      {{.query_begin = 0,
        .query_length = 1,
        .position = 99,
        .blocks = {int32_t{kBlocks - 1}, int32_t{kBlocks - 3}}}},
      64};
  EXPECT_TRUE(same_bits(
      forward(
          {query.tensor.narrow(0, 99, 1), key.tensor, value.tensor}, last, shape.rule()),
      whole.narrow(0, 99, 1)));
}

TEST_P(AttentionPagedTest, RefusesBlocksThatDoNotFit) {
  const Shape shape{{64}, 4, 2, 16, 16};
  const AttentionInputs in = inputs(shape);
  const AttentionInputs one{in.query.narrow(0, 0, 1), in.key, in.value};
  const auto refused = [&](std::vector<int32_t> blocks, int64_t size, int64_t window) {
    const SequenceContext sequence{
        {{.query_begin = 0,
          .query_length = 1,
          .position = 40,
          .blocks = std::move(blocks)}},
        size};
    return refusal(one, sequence, {.scale = 1, .window = window});
  };
  EXPECT_EQ(
      refused({0, 1}, 16, 0),
      "[attention] the sequence at row 0 needs 3 blocks of 16 keys, but has 2");
  EXPECT_EQ(refused({0, 1}, 16, 9), "");
  EXPECT_EQ(refused({0, 1}, 16, 24), "");
  EXPECT_EQ(
      refused({0, 1}, 16, 26),
      "[attention] the sequence at row 0 needs 3 blocks of 16 keys, but has 2");
  EXPECT_EQ(
      refused({0, 1, 4}, 16, 0),
      "[attention] the sequence at row 0 names block 4, but there are 4");
  EXPECT_EQ(refused({0}, 0, 0), "[attention] expected block_size > 0, got 0");
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes,
    AttentionPagedTest,
    testing::Values(at::kFloat, at::kBFloat16),
    [](const auto& info) { return std::string(at::toString(info.param)); });

}  // namespace
}  // namespace titan::ops
