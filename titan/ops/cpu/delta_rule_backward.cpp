// Walks a span's chunks backwards. The states between them are computed again first, then
// each chunk's rows. Per chunk, with G the rows (-dy; dout) beside the rows (A; B) and
// (k E; q E) that they met, and dS the gradient of the state behind the chunk:
//   d delta = K~ dS + (A; B)^T G       dy = beta d delta, last row first    dv = dy
//   d(A; B) = G delta^T                d(k E; q E) = G S^T       d K~ = delta dS^T
//   dS before = E_last dS + (k E; q E)^T G
// with K~ the keys decayed to the chunk's end. The logarithms of the decays need no
// products of their own: a row's q dq + k dk as far as it reads, minus k dk as far as it
// writes, summed over the rows from t on, is the gradient of log decay t.
#include <cstring>

#include "titan/ops/cpu/delta_chunk.h"
#include "titan/ops/cpu/delta_work.h"
#include "titan/ops/cpu/scratch.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Scratch slots of this file.
constexpr int kChunkSlot = 8;
constexpr int kWorkSlot = 9;
constexpr int kStateSlot = 10;

constexpr int64_t kScoreStride = DeltaChunk::kScoreStride;
constexpr int64_t kStackStride = DeltaWork::kStackStride;

int64_t whole_vectors(int64_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

class Backward {
 public:
  Backward(const DeltaBackward& args, const DeltaSpan& span)
      : args_(args),
        span_(span),
        rule_(args.rule),
        widths_(rule_.key_width, rule_.value_width),
        chunk_(rule_, scratch_of<float>(kChunkSlot, DeltaChunk::size(widths_))),
        work_(scratch_of<float>(kWorkSlot, DeltaWork(nullptr, widths_).size()), widths_),
        memory_(work_.memory, widths_),
        group_(rule_.heads / rule_.key_heads),
        chunks_((span.rows + kDeltaChunk - 1) / kDeltaChunk),
        states_(scratch_of<float>(kStateSlot, group_ * (chunks_ + 2) * state_size())) {}

  void run(int64_t key_head, const DeltaStateGradients& states) {
    const int64_t first = key_head * group_;
    const int64_t size = rule_.key_width * rule_.value_width;
    const auto of_head = [size](const float* all, int64_t head) {
      return all == nullptr ? nullptr : all + head * size;
    };
    for (int64_t h = 0; h < group_; ++h) {
      compute_states(h, first + h, of_head(states.begin, first + h));
      load_state(of_head(states.d_end, first + h), rule_, d_state(h));
    }
    for (int64_t c = chunks_ - 1; c >= 0; --c) {
      const size_t bytes = static_cast<size_t>(kDeltaChunk * widths_.key) * sizeof(float);
      std::memset(work_.d_query, 0, bytes);
      std::memset(work_.d_key, 0, bytes);
      for (int64_t h = 0; h < group_; ++h) {
        chunk_backward(c, h, first + h);
      }
      store_shared_rows(key_head);
    }
    for (int64_t h = 0; h < group_ && states.d_begin != nullptr; ++h) {
      store_state(d_state(h), rule_, states.d_begin + (first + h) * size);
    }
  }

 private:
  [[nodiscard]] int64_t state_size() const { return widths_.key * widths_.value; }

  // Of a head of the group: before chunk c, and the gradient behind the one at hand.
  [[nodiscard]] float* state(int64_t c, int64_t h) const {
    return states_ + (h * (chunks_ + 2) + c) * state_size();
  }

  [[nodiscard]] float* d_state(int64_t h) const { return state(chunks_ + 1, h); }

  void copy_state(const float* from, float* to) const {
    std::memcpy(to, from, static_cast<size_t>(state_size()) * sizeof(float));
  }

  [[nodiscard]] DeltaPart part(int64_t c) const {
    const int64_t done = c * kDeltaChunk;
    const int64_t left = span_.rows - done;
    return {span_.row + done, 0, left < kDeltaChunk ? left : kDeltaChunk};
  }

  void compute_states(int64_t h, int64_t head, const float* begin) {
    load_state(begin, rule_, memory_.state);
    for (int64_t c = 0; c < chunks_; ++c) {
      copy_state(memory_.state, state(c, h));
      chunk_.read(part(c), head);
      chunk_.compute(memory_, DeltaReads::kKeys);
      chunk_.end_chunk(memory_);
    }
    copy_state(memory_.state, state(chunks_, h));
  }

  void chunk_backward(int64_t c, int64_t h, int64_t head) {
    part_ = part(c);
    copy_state(state(c, h), memory_.state);
    chunk_.read(part_, head);
    chunk_.compute(memory_, DeltaReads::kKeysAndQueries);
    load_output_gradient(head);
    decay_keys();
    solve(d_state(h));
    differentiate_products(state(c + 1, h), d_state(h));
    for (int64_t b = chunk_.num_blocks() - 1; b >= 0; --b) {
      differentiate_block(b);
    }
    store_head_rows(head);
  }

  void load_output_gradient(int64_t head);
  void decay_keys();
  void solve(const float* d_state);
  void solve_block(const DeltaBlock& block);
  void differentiate_products(const float* next_state, float* d_state);
  void differentiate_block(int64_t b);
  void differentiate_rows(const DeltaBlock& block, float* d_near, int64_t d);
  void store_head_rows(int64_t head);
  void store_shared_rows(int64_t key_head);

  const DeltaBackward& args_;
  const DeltaSpan& span_;
  const DeltaRule& rule_;
  DeltaWidths widths_;
  DeltaChunk chunk_;
  DeltaWork work_;
  DeltaMemory memory_;
  int64_t group_;
  int64_t chunks_;
  float* states_;
  DeltaPart part_{};
};

// Queries' rows of G.
void Backward::load_output_gradient(int64_t head) {
  const int64_t bytes = rule_.bf16 ? 2 : 4;
  for (int64_t b = 0; b < chunk_.num_blocks(); ++b) {
    const DeltaBlock block = chunk_.block(b);
    for (int64_t row = block.first; row < block.end; ++row) {
      const int64_t at =
          (part_.row + row) * args_.d_out.row_stride + head * args_.d_out.head_stride;
      load_row(
          static_cast<const char*>(args_.d_out.data) + at * bytes,
          rule_.bf16,
          rule_.value_width,
          work_.grads + (block.stack + block.rows() + row - block.first) * widths_.value);
    }
  }
}

// The keys decayed to the chunk's end and to the start of each block behind them.
void Backward::decay_keys() {
  const int64_t width = widths_.key;
  for (int64_t d = 0; d < width; d += kLanes) {
    F16 to_end = splat(1);
    for (int64_t j = part_.rows - 1; j >= 0; --j) {
      store(work_.end_keys + j * width + d, load(chunk_.key + j * width + d) * to_end);
      to_end = to_end * load(chunk_.decay + j * width + d);
    }
    F16 start = splat(1);
    for (int64_t b = 0; b < chunk_.num_blocks(); ++b) {
      const DeltaBlock block = chunk_.block(b);
      store(work_.block_starts + b * width + d, start);
      float* next = work_.earlier_keys + DeltaWork::earlier(b + 1) * width + d;
      F16 product = splat(1);
      for (int64_t j = block.end - 1; j >= block.start; --j) {
        if (b + 1 < chunk_.num_blocks()) {
          store(next + j * width, load(chunk_.key + j * width + d) * product);
        }
        product = product * load(chunk_.decay + j * width + d);
      }
      const float* before = work_.earlier_keys + DeltaWork::earlier(b) * width + d;
      for (int64_t j = 0; j < block.start && b + 1 < chunk_.num_blocks(); ++j) {
        store(next + j * width, load(before + j * width) * product);
      }
      store(work_.block_decays + b * width + d, product);
      start = start * product;
    }
    store(work_.block_starts + chunk_.num_blocks() * width + d, start);
  }
}

// The deltas' gradients, last block first; keys' rows of G.
void Backward::solve(const float* d_state) {
  const int64_t width = widths_.value;
  brgemm(
      {part_.rows, width, widths_.key, widths_.key, width, width},
      /*accumulate=*/false,
      work_.end_keys,
      d_state,
      work_.d_deltas);
  const int64_t stack = 2 * part_.rows;
  turn(
      {whole_vectors(stack), kDeltaChunk, kScoreStride, kStackStride},
      chunk_.scores,
      work_.turned);
  for (int64_t b = chunk_.num_blocks() - 1; b >= 0; --b) {
    const DeltaBlock block = chunk_.block(b);
    const int64_t later = 2 * block.end;
    if (later < stack) {
      brgemm(
          {block.rows(), width, stack - later, kStackStride, width, width},
          /*accumulate=*/true,
          work_.turned + block.start * kStackStride + later,
          work_.grads + later * width,
          work_.d_deltas + block.start * width);
    }
    solve_block(block);
  }
}

void Backward::solve_block(const DeltaBlock& block) {
  const int64_t width = widths_.value;
  for (int64_t i = block.end - 1; i >= block.start; --i) {
    const int64_t stacked = block.stack + i - block.first;
    const float* scores = chunk_.scores + stacked * kScoreStride + i;
    float* key_grads = work_.grads + stacked * width;
    float* d_delta = work_.d_deltas + i * width;
    for (int64_t c = 0; c < width; c += kLanes) {
      F16 sum = load(d_delta + c);
      for (int64_t j = 0; j < block.end - i; ++j) {
        const float* below = scores + j * kScoreStride;
        const float* g = key_grads + j * width + c;
        if (j > 0) {
          sum = fma(splat(below[0]), load(g), sum);
        }
        sum =
            fma(splat(below[block.rows() * kScoreStride]),
                load(g + block.rows() * width),
                sum);
      }
      store(d_delta + c, sum);
      store(key_grads + c, splat(-chunk_.beta[i]) * sum);
    }
  }
}

// Of the scores, the rows that read the state, the writes, and the state.
void Backward::differentiate_products(const float* next_state, float* d_state) {
  const int64_t key = widths_.key;
  const int64_t value = widths_.value;
  const int64_t rows = part_.rows;
  float* turned = work_.turned;
  turn({whole_vectors(rows), value, value, kScoreStride}, memory_.deltas, turned);
  for (int64_t b = 0; b < chunk_.num_blocks(); ++b) {
    const DeltaBlock block = chunk_.block(b);
    brgemm(
        {2 * block.rows(),
         block.start + kDeltaBlock,
         value,
         value,
         kScoreStride,
         kScoreStride},
        /*accumulate=*/false,
        work_.grads + block.stack * value,
        turned,
        work_.d_scores + block.stack * kScoreStride);
  }
  turn({key, value, value, key + DeltaWork::kSkew}, memory_.state, turned);
  brgemm(
      {2 * rows, key, value, value, key + DeltaWork::kSkew, key},
      /*accumulate=*/false,
      work_.grads,
      turned,
      work_.d_reads);
  turn({key, value, value, key + DeltaWork::kSkew}, d_state, turned);
  brgemm(
      {rows, key, value, value, key + DeltaWork::kSkew, key},
      /*accumulate=*/false,
      memory_.deltas,
      turned,
      work_.d_writes);
  const float* decay = work_.block_starts + chunk_.num_blocks() * key;
  for (int64_t d = 0; d < key; ++d) {
    const F16 kept = splat(decay[d]);
    F16 sum = splat(0);
    for (int64_t c = d * value; c < (d + 1) * value; c += kLanes) {
      sum = fma(load(next_state + c), load(d_state + c), sum);
      store(d_state + c, load(d_state + c) * kept);
    }
    work_.decay_sum[d] = reduce_add(sum);
  }
  turn({whole_vectors(2 * rows), key, key, kStackStride}, chunk_.reads, turned);
  brgemm(
      {key, value, 2 * rows, kStackStride, value, value},
      /*accumulate=*/true,
      turned,
      work_.grads,
      d_state);
}

// Gradients of the rows of block b. REQUIRES: those of the later blocks are done.
void Backward::differentiate_block(int64_t b) {
  const DeltaBlock block = chunk_.block(b);
  const int64_t width = widths_.key;
  const int64_t stack = 2 * block.rows();
  float* d_near = work_.d_reads + block.stack * width;
  for (int64_t d = 0; d < width; d += kLanes) {
    const F16 before = load(work_.block_starts + b * width + d);
    for (int64_t i = 0; i < stack; ++i) {
      store(d_near + i * width + d, load(d_near + i * width + d) * before);
    }
  }
  const float* d_scores = work_.d_scores + block.stack * kScoreStride;
  if (b > 0) {
    brgemm(
        {stack, width, block.start, kScoreStride, width, width},
        /*accumulate=*/true,
        d_scores,
        work_.earlier_keys + DeltaWork::earlier(b) * width,
        d_near);
  }
  for (int64_t d = 0; d < width; d += kLanes) {
    differentiate_rows(block, d_near, d);
  }
  if (b > 0) {
    for (int64_t d = 0; d < width; d += kLanes) {
      const F16 product = load(work_.block_decays + b * width + d);
      for (int64_t j = 0; j < block.start; ++j) {
        float* write = work_.d_writes + j * width + d;
        store(write, load(write) * product);
      }
    }
    turn(
        {whole_vectors(stack), block.start, kScoreStride, kStackStride},
        d_scores,
        work_.turned);
    brgemm(
        {block.start, width, stack, kStackStride, width, width},
        /*accumulate=*/true,
        work_.turned,
        chunk_.near + block.stack * width,
        work_.d_writes);
  }
}

// Columns [d, d + 16) of the block's rows. What was the gradient of a near key becomes
// that of the row's log decay.
void Backward::differentiate_rows(const DeltaBlock& block, float* d_near, int64_t d) {
  const int64_t width = widths_.key;
  const int64_t rows = block.rows();
  const auto at = [&](int64_t i) { return (block.start + i) * width + d; };
  F16 d_query[kDeltaBlock];
  F16 d_read[kDeltaBlock];
  F16 d_write[kDeltaBlock];
  F16 product = splat(1);
  for (int64_t i = 0; i < rows; ++i) {
    product = product * load(chunk_.decay + at(i));
    d_read[i] = load(d_near + i * width + d) * product;
    d_query[i] = load(d_near + (rows + i) * width + d) * product;
  }
  F16 to_end = splat(1);
  for (int64_t i = rows - 1; i >= 0; --i) {
    d_write[i] = load(work_.d_writes + at(i)) * to_end;
    to_end = to_end * load(chunk_.decay + at(i));
  }
  const float* d_scores = work_.d_scores + block.stack * kScoreStride + block.start;
  for (int64_t i = 0; i < rows; ++i) {
    const float* d_key_scores = d_scores + i * kScoreStride;
    const float* d_query_scores = d_key_scores + rows * kScoreStride;
    const F16 q = load(chunk_.query + at(i));
    const F16 k = load(chunk_.key + at(i));
    d_query[i] = fma(splat(d_query_scores[i]), k, d_query[i]);
    d_write[i] = fma(splat(d_query_scores[i]), q, d_write[i]);
    F16 decayed = splat(1);
    for (int64_t j = i - 1; j >= 0; --j) {
      decayed = decayed * load(chunk_.decay + at(j + 1));
      const F16 other = load(chunk_.key + at(j)) * decayed;
      const F16 by_key = splat(d_key_scores[j]);
      const F16 by_query = splat(d_query_scores[j]);
      d_read[i] = fma(by_key, other, d_read[i]);
      d_query[i] = fma(by_query, other, d_query[i]);
      d_write[j] = fma(decayed, fma(by_key, k, by_query * q), d_write[j]);
    }
  }
  F16 sum = load(work_.decay_sum + d);
  for (int64_t i = rows - 1; i >= 0; --i) {
    const F16 net = d_read[i] - d_write[i];
    sum = fma(load(chunk_.query + at(i)), d_query[i], sum);
    sum = fma(load(chunk_.key + at(i)), net, sum);
    store(d_near + i * width + d, sum);
    store(work_.d_query + at(i), load(work_.d_query + at(i)) + d_query[i]);
    store(work_.d_key + at(i), load(work_.d_key + at(i)) + (d_read[i] + d_write[i]));
  }
  store(work_.decay_sum + d, sum);
}

void Backward::store_head_rows(int64_t head) {
  const int64_t value = widths_.value;
  for (int64_t b = 0; b < chunk_.num_blocks(); ++b) {
    const DeltaBlock block = chunk_.block(b);
    for (int64_t i = block.first; i < block.end; ++i) {
      const int64_t at = (part_.row + i) * rule_.heads + head;
      const int64_t stacked = block.stack + i - block.first;
      float* d_value = work_.grads + stacked * value;
      F16 products = splat(0);
      for (int64_t c = 0; c < value; c += kLanes) {
        const F16 residual = load(chunk_.residual + i * value + c);
        products = fma(load(work_.d_deltas + i * value + c), residual, products);
        store(d_value + c, splat(0) - load(d_value + c));
      }
      args_.d_beta[at] = reduce_add(products);
      const int64_t bytes = rule_.value_width * (rule_.bf16 ? 2 : 4);
      char* to = static_cast<char*>(args_.d_value) + at * bytes;
      store_row(d_value, rule_.bf16, rule_.value_width, to);
      const float* d_decay = work_.d_reads + stacked * widths_.key;
      if (rule_.decays == 1) {
        F16 sum = splat(0);
        for (int64_t d = 0; d < widths_.key; d += kLanes) {
          sum = sum + load(d_decay + d);
        }
        args_.d_log_decay[at] = reduce_add(sum);
      } else {
        float* d_log_decay = args_.d_log_decay + at * rule_.decays;
        store_row(d_decay, /*bf16=*/false, rule_.decays, d_log_decay);
      }
    }
  }
}

// Back through x / |x| times scale, of which `row` is the result: `d_row` becomes the
// gradient of x.
void differentiate_norm(
    const float* row, int64_t width, float reciprocal, float scale, float* d_row) {
  F16 products = splat(0);
  for (int64_t d = 0; d < width; d += kLanes) {
    products = fma(load(row + d), load(d_row + d), products);
  }
  const F16 along = splat(reduce_add(products) / (scale * scale));
  const F16 factor = splat(reciprocal * scale);
  for (int64_t d = 0; d < width; d += kLanes) {
    const F16 across = fma(splat(0) - along, load(row + d), load(d_row + d));
    store(d_row + d, factor * across);
  }
}

void Backward::store_shared_rows(int64_t key_head) {
  const int64_t width = widths_.key;
  const int64_t bytes = rule_.key_width * (rule_.bf16 ? 2 : 4);
  for (int64_t i = 0; i < part_.rows; ++i) {
    const int64_t at = ((part_.row + i) * rule_.key_heads + key_head) * bytes;
    float* d_query = work_.d_query + i * width;
    float* d_key = work_.d_key + i * width;
    differentiate_norm(
        chunk_.query + i * width, width, chunk_.query_norm[i], rule_.scale, d_query);
    differentiate_norm(chunk_.key + i * width, width, chunk_.key_norm[i], 1, d_key);
    char* to_query = static_cast<char*>(args_.d_query) + at;
    store_row(d_query, rule_.bf16, rule_.key_width, to_query);
    char* to_key = static_cast<char*>(args_.d_key) + at;
    store_row(d_key, rule_.bf16, rule_.key_width, to_key);
  }
}

}  // namespace

void delta_rule_backward(
    const DeltaBackward& args,
    const DeltaSpan& span,
    int64_t key_head,
    const DeltaStateGradients& states) {
  const FlushDenormals flush;
  Backward(args, span).run(key_head, states);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
