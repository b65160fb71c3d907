#include "titan/ops/muon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "titan/ops/cpu/gemm.h"
#include "titan/ops/cpu/muon_rows.h"
#include "titan/ops/cpu/pack.h"
#include "titan/ops/cpu/parallel.h"
#include "titan/ops/cpu/scratch.h"
#include "titan/ops/grad_norm.h"

namespace titan::ops {
namespace {

using cpu::Matrix;

// out = product a b + x_factor x, rounded to out's dtype.
struct Blend {
  double product;
  double x_factor;
  const Tensor* x;  // null = none
  bool symmetric;   // only the blocks on and below the diagonal are needed
};

template <class S, class P>
void blended_product(
    const Matrix<const P>& a, const cpu::Packed<P>& b, const Blend& blend, Tensor out) {
  const auto* x = blend.x == nullptr ? nullptr : blend.x->const_data_ptr();
  auto* to = cpu::data_of<S>(out);
  constexpr int64_t kWidth = cpu::kBlockColumns;
  const int64_t blocks = b.num_blocks();
  const int64_t count = cpu::ceil_div(a.rows, cpu::kBlockRows) * blocks;
  cpu::parallel_tasks(count, [&](cpu::Range tasks) {
    const cpu::BrgemmScope scope;
    auto* tile = cpu::scratch_of<float>(0, cpu::kBlockRows * kWidth);
    for (int64_t i = tasks.begin; i < tasks.end; ++i) {
      // From both ends in turn: a symmetric product has less to do at the front.
      const int64_t task = i % 2 == 0 ? i / 2 : count - 1 - i / 2;
      const int64_t column = task % blocks * kWidth;
      const int64_t begin = task / blocks * cpu::kBlockRows;
      const int64_t end = std::min(begin + cpu::kBlockRows, a.rows);
      const int64_t row = blend.symmetric ? std::max(begin, column) : begin;
      if (row >= end) {
        continue;
      }
      const Matrix<const P> rows = a.rows_from(row, end - row);
      const cpu::Packed<P> part = b.columns_from(column, kWidth);
      cpu::multiply(rows, part, /*accumulate=*/false, tile, kWidth);
      const int64_t at = row * b.columns + column;
      cpu::muon_blend(
          {.x = x == nullptr ? nullptr : static_cast<const S*>(x) + at,
           .out = to + at,
           .stride = b.columns,
           .tile_factor = static_cast<float>(blend.product),
           .x_factor = static_cast<float>(blend.x_factor),
           .bf16 = out.scalar_type() == at::kBFloat16},
          {tile, rows.rows, part.columns, kWidth});
    }
  });
}

// Copies what is below the diagonal of a square matrix to above it.
template <class S>
void mirror(Tensor square) {
  const int64_t size = square.size(0);
  auto* data = cpu::data_of<S>(square);
  constexpr int64_t kBlock = 32;
  cpu::parallel_tasks(cpu::ceil_div(size, kBlock), [&](cpu::Range blocks) {
    for (int64_t row = blocks.begin * kBlock; row < std::min(blocks.end * kBlock, size);
         row += kBlock) {
      for (int64_t column = row; column < size; column += kBlock) {
        for (int64_t r = row; r < std::min(row + kBlock, size); ++r) {
          for (int64_t c = std::max(column, r + 1); c < std::min(column + kBlock, size);
               ++c) {
            data[r * size + c] = data[c * size + r];
          }
        }
      }
    }
  });
}

// The blend of m packed with the shape [rows of m, columns].
Tensor product(
    const Tensor& m, const Tensor& packed, int64_t columns, const Blend& blend) {
  const Tensor out = at::empty({m.size(0), columns}, m.options());
  cpu::with_operands(m.scalar_type(), packed.scalar_type(), [&]<class S, class P>(S, P) {
    const Matrix<const P> rows = cpu::operand_rows<S, P>(cpu::matrix_of<S>(m));
    blended_product<S>(rows, cpu::packed_of<P>(packed, columns), blend, out);
    if (blend.symmetric) {
      mirror<S>(out);
    }
  });
  return out;
}

// The iteration on one matrix x [N, K], N <= K, of norm at most 1.
Tensor iterate(Tensor x, const NewtonSchulzArgs& args) {
  const int64_t rows = x.size(0);
  for (int64_t i = 0; i < args.steps; ++i) {
    const Tensor turned = cpu::pack_weight(x, PackKind::kForward, args.dtype);
    const Tensor gram = product(x, turned, rows, {.product = 1, .symmetric = true});
    // Symmetric, so that it is its own transpose as an operand.
    const Tensor packed_gram = cpu::pack_weight(gram, PackKind::kBackward, args.dtype);
    const Tensor both = product(
        gram,
        packed_gram,
        rows,
        {.product = args.c, .x_factor = args.b, .x = &gram, .symmetric = true});
    const Tensor packed = cpu::pack_weight(x, PackKind::kBackward, args.dtype);
    x = product(both, packed, x.size(1), {.product = 1, .x_factor = args.a, .x = &x});
  }
  return x;
}

Tensor orthogonalize_one(
    const Tensor& update, double norm, const NewtonSchulzArgs& args) {
  const Tensor scaled = (update / std::max(norm, args.eps)).to(args.dtype);
  const bool tall = update.size(0) > update.size(1);
  return tall ? iterate(scaled.t().contiguous(), args).t() : iterate(scaled, args);
}

void check_like(const char* op, const Tensor& x, const Tensor& like) {
  TORCH_CHECK(
      x.scalar_type() == at::kFloat && x.is_contiguous() && x.sizes() == like.sizes(),
      "[",
      op,
      "] expected contiguous fp32 ",
      like.sizes(),
      ", got ",
      x.scalar_type(),
      " ",
      x.sizes());
}

}  // namespace

void muon_momentum(
    const MuonMomentumArgs& args,
    const Tensor& gradient,
    Tensor momentum,
    Tensor update) {
  for (const Tensor& x : {gradient, momentum, update}) {
    check_like("muon_momentum", x, gradient);
  }
  if (!gradient.is_cpu()) {
    muon_momentum_plain(args, gradient, momentum, update);
    return;
  }
  const cpu::MuonMomentum rows{
      .gradient = gradient.const_data_ptr<float>(),
      .momentum = momentum.mutable_data_ptr<float>(),
      .update = update.mutable_data_ptr<float>(),
      .gradient_scale = static_cast<float>(args.gradient_scale),
      .one_minus_momentum = static_cast<float>(1 - args.momentum),
      .nesterov = args.nesterov};
  at::parallel_for(
      0, gradient.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
        cpu::muon_momentum(rows, begin, end);
      });
}

Tensor orthogonalize(const Tensor& updates, const NewtonSchulzArgs& args) {
  TORCH_CHECK(
      updates.dim() == 3 && updates.scalar_type() == at::kFloat &&
          updates.is_contiguous() && updates.numel() > 0,
      "[orthogonalize] expected contiguous fp32 matrices [B, N, K], got ",
      updates.scalar_type(),
      " ",
      updates.sizes());
  TORCH_CHECK(
      args.steps >= 1 && (args.dtype == at::kFloat || args.dtype == at::kBFloat16),
      "[orthogonalize] expected at least one step in fp32 or bf16, got ",
      args.steps,
      " in ",
      args.dtype);
  if (!updates.is_cpu()) {
    return orthogonalize_plain(updates.to(args.dtype), args);
  }
  const int64_t count = updates.size(0);
  const std::vector<Tensor> each = updates.unbind();
  const std::vector<double> squares = sums_of_squares(each);
  std::vector<Tensor> results(each.size());
  const auto run = [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      results[i] = orthogonalize_one(each[i], std::sqrt(squares[i]), args);
    }
  };
  // Whole matrices for each thread where there are enough, else threads share a product.
  if (count >= at::get_num_threads()) {
    at::parallel_for(0, count, 1, run);
  } else {
    run(0, count);
  }
  return at::stack(results);
}

void muon_step(double step, double decay, Tensor parameter, const Tensor& direction) {
  check_like("muon_step", parameter, direction);
  TORCH_CHECK(
      (direction.scalar_type() == at::kFloat ||
       direction.scalar_type() == at::kBFloat16) &&
          direction.is_contiguous(),
      "[muon_step] expected a contiguous fp32 or bf16 direction, got ",
      direction.scalar_type());
  if (!parameter.is_cpu()) {
    parameter.mul_(1 - decay).sub_(direction, step);
    return;
  }
  const cpu::MuonStep rows{
      .parameter = parameter.mutable_data_ptr<float>(),
      .direction = direction.const_data_ptr(),
      .step = static_cast<float>(step),
      .kept = static_cast<float>(1 - decay),
      .bf16 = direction.scalar_type() == at::kBFloat16};
  at::parallel_for(
      0, parameter.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
        cpu::muon_step(rows, begin, end);
      });
}

void muon_momentum_plain(
    const MuonMomentumArgs& args,
    const Tensor& gradient,
    Tensor momentum,
    Tensor update) {
  const Tensor g = gradient * args.gradient_scale;
  momentum.lerp_(g, 1 - args.momentum);
  update.copy_(args.nesterov ? g.lerp(momentum, args.momentum) : momentum);
}

Tensor orthogonalize_plain(const Tensor& updates, const NewtonSchulzArgs& args) {
  const bool tall = updates.size(1) > updates.size(2);
  Tensor x = tall ? updates.mT() : updates;
  x = x / x.norm(2, {1, 2}, /*keepdim=*/true).clamp_min(args.eps);
  for (int64_t i = 0; i < args.steps; ++i) {
    const Tensor gram = x.matmul(x.mT());
    const Tensor both = at::baddbmm(gram, gram, gram, args.b, args.c);
    x = at::baddbmm(x, both, x, args.a);
  }
  return tall ? x.mT().contiguous() : x;
}

}  // namespace titan::ops
