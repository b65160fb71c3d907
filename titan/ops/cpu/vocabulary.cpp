#include "titan/ops/cpu/vocabulary.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/scratch.h"
#include "titan/ops/cpu/softmax_kernels.h"
#include "titan/ops/cpu/weight_grad.h"

namespace titan::ops::cpu {
namespace {

// Rows whose logits of one vocabulary tile are in the cache together.
constexpr int64_t kTileRows = 128;
// Rows that one task runs through with the same vocabulary tile.
constexpr int64_t kTaskRows = 2048;
// Bytes of logit gradients held at a time.
constexpr int64_t kSliceBytes = int64_t{32} << 20;

struct LogitsTile {
  int64_t row;
  int64_t rows;
  int64_t column;  // of the vocabulary part that b holds
  int64_t columns;
  const float* logits;  // [rows, kVocabularyTile]
};

// Calls use(tile) for all tiles of x b, on at::get_num_threads() threads.
template <class P, class Use>
void for_each_tile(const Matrix<const P>& x, const Packed<P>& b, const Use& use) {
  const int64_t row_tasks = ceil_div(x.rows, kTaskRows);
  parallel_tasks(ceil_div(b.columns, kVocabularyTile) * row_tasks, [&](Range tasks) {
    const BrgemmScope scope;
    float* logits = scratch_of<float>(0, kTileRows * kVocabularyTile);
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      const int64_t column = task / row_tasks * kVocabularyTile;
      const Packed<P> part = b.columns_from(column, kVocabularyTile);
      const int64_t begin = task % row_tasks * kTaskRows;
      const int64_t end = std::min(begin + kTaskRows, x.rows);
      for (int64_t row = begin; row < end; row += kTileRows) {
        const Matrix<const P> some = x.rows_from(row, kTileRows);
        multiply(some, part, false, logits, kVocabularyTile);
        use(LogitsTile{row, some.rows, column, part.columns, logits});
      }
    }
  });
}

float merge_partials(const SoftmaxPartial* partials, int64_t count) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float most = kNone;
  for (int64_t i = 0; i < count; ++i) {
    most = std::max(most, partials[i].max);
  }
  const float base = most == kNone ? 0.0F : most;
  float sum = 0.0F;
  for (int64_t i = 0; i < count; ++i) {
    sum += partials[i].sum * std::exp(partials[i].max - base);
  }
  return base + std::log(sum);
}

template <class P>
void score(
    const Matrix<const P>& x, const Packed<P>& b, const int64_t* targets, RowScores out) {
  const int64_t tiles = ceil_div(b.columns, kVocabularyTile);
  auto* partials = scratch_of<SoftmaxPartial>(5, static_cast<size_t>(x.rows * tiles));
  auto* logprob = data_of<float>(out.logprob);
  auto* log_sum_exp = data_of<float>(out.log_sum_exp);
  for_each_tile(x, b, [&](const LogitsTile& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.row + r;
      const float* logits = tile.logits + r * kVocabularyTile;
      partials[row * tiles + tile.column / kVocabularyTile] =
          softmax_kernels().reduce(logits, tile.columns);
      const int64_t target = targets[row] - tile.column;
      if (target >= 0 && target < tile.columns) {
        logprob[row] = logits[target];
      }
    }
  });
  parallel_tasks(x.rows, [&](Range rows) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      log_sum_exp[row] = merge_partials(partials + row * tiles, tiles);
      logprob[row] -= log_sum_exp[row];
    }
  });
}

// The gradient of the logits of one slice of the vocabulary: [rows, padded columns].
template <class P>
Matrix<const P> logit_gradients(
    const HeadBackward& args,
    const Matrix<const P>& x,
    const Packed<P>& slice,
    int64_t begin) {
  const int64_t depth = padded_depth<P>(slice.columns);
  // A stride off the powers of two, so that rows do not share cache sets.
  const int64_t stride = round_up(depth, 32) + 32;
  P* out = scratch_of<P>(4, static_cast<size_t>(x.rows * stride));
  const auto* targets = args.rows.targets.const_data_ptr<int64_t>();
  const auto* log_sum_exp = args.log_sum_exp.const_data_ptr<float>();
  const auto* grad = args.grad.const_data_ptr<float>();
  for_each_tile(x, slice, [&](const LogitsTile& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.row + r;
      const LogitGradient of{
          log_sum_exp[row], grad[row], targets[row] - begin - tile.column};
      softmax_kernels().gradient(
          of,
          tile.logits + r * kVocabularyTile,
          tile.columns,
          padded_depth<P>(tile.columns),
          out + row * stride + tile.column);
    }
  });
  return {out, x.rows, depth, stride};
}

template <class P>
int64_t slice_columns(int64_t rows) {
  const int64_t fits = kSliceBytes / static_cast<int64_t>(sizeof(P)) / rows;
  return std::max<int64_t>(1, fits / kDepthChunk<P>) * kDepthChunk<P>;
}

template <class S, class P>
void run_backward(
    const HeadBackward& args,
    const Tensor& dx,
    const std::optional<WeightSource::GradView>& weight_grad_view) {
  const Matrix<const P> x = operand_rows<S, P>(matrix_of<S>(args.rows.x));
  const int64_t width = args.rows.x.size(1);
  const Packed<P> forward = packed_of<P>(args.packed_forward, args.rows.vocabulary);
  std::optional<Packed<P>> tokens;
  if (weight_grad_view) {
    tokens = pack_activations<S, P>(matrix_of<S>(args.rows.x));
  }
  const int64_t count = slice_columns<P>(x.rows);
  for (int64_t begin = 0; begin < args.rows.vocabulary; begin += count) {
    const Packed<P> slice = forward.columns_from(begin, count);
    const Matrix<const P> dlogits = logit_gradients(args, x, slice, begin);
    if (dx.defined()) {
      const Packed<P> weight =
          packed_of<P>(args.packed_backward, width).depth_from(begin, count);
      multiply_parallel(dlogits, weight, begin > 0, data_of<float>(dx));
    }
    if (tokens) {
      float* rows = data_of<float>(weight_grad_view->buffer) + begin * width;
      const auto columns = dlogits.columns_from(0, slice.columns);
      weight_grad(columns, *tokens, weight_grad_view->accumulate, rows);
    }
  }
}

}  // namespace

RowScores score_rows(const ScoredRows& rows, const Tensor& packed) {
  const auto options = rows.x.options().dtype(at::kFloat);
  RowScores out{
      at::empty({rows.x.size(0)}, options), at::empty({rows.x.size(0)}, options)};
  with_operands(rows.x.scalar_type(), packed.scalar_type(), [&]<class S, class P>(S, P) {
    score(
        operand_rows<S, P>(matrix_of<S>(rows.x)),
        packed_of<P>(packed, rows.vocabulary),
        rows.targets.const_data_ptr<int64_t>(),
        out);
  });
  return out;
}

Tensor log_sum_exp_rows(const Tensor& logits) {
  const int64_t vocabulary = logits.size(1);
  const int64_t tiles = ceil_div(vocabulary, kVocabularyTile);
  const Tensor out = at::empty({logits.size(0)}, logits.options());
  const Matrix<const float> rows = matrix_of<float>(logits);
  auto* result = data_of<float>(out);
  parallel_tasks(rows.rows, [&](Range part) {
    auto* partials = scratch_of<SoftmaxPartial>(5, static_cast<size_t>(tiles));
    for (int64_t row = part.begin; row < part.end; ++row) {
      const float* from = rows.data + row * vocabulary;
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t n = std::min(kVocabularyTile, vocabulary - i * kVocabularyTile);
        partials[i] = softmax_kernels().reduce(from + i * kVocabularyTile, n);
      }
      result[row] = merge_partials(partials, tiles);
    }
  });
  return out;
}

Tensor head_backward(
    const HeadBackward& args, const std::optional<WeightSource::GradView>& weight_grad) {
  const Tensor& x = args.rows.x;
  Tensor dx;
  if (args.packed_backward.defined()) {
    dx = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  }
  with_operands(
      x.scalar_type(), args.packed_forward.scalar_type(), [&]<class S, class P>(S, P) {
        run_backward<S, P>(args, dx, weight_grad);
      });
  return dx.defined() ? dx.to(x.scalar_type()) : dx;
}

}  // namespace titan::ops::cpu
