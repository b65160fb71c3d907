// Makes the fused kernels of a region from its chain. Included only by files that are
// compiled once per instruction set.
//
// Forward: one pass over the row for each row mean, one for the results. Backward: the
// adjoint of a row mean is a sum over the row, so one pass collects those of the results,
// one more each mean that stands inside another, and a last one forms the gradients.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "titan/ops/cpu/vec.h"
#include "titan/ops/cpu/vec_loops.h"
#include "titan/ops/region/chain.h"
#include "titan/ops/region/kernels.h"
#include "titan/ops/region/vector_ops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

// What region::Chain asks of the numbers of rows of type T.
template <class T>
struct VectorArithmetic {
  static F16 number(double x) { return splat(static_cast<float>(x)); }

  static F16 rounded(F16 a) {
    return TITAN_ISA_NAMESPACE::rounded(a, static_cast<const T*>(nullptr));
  }
};

// flatten: a call left in the inner loop would send every vector through memory.
template <class R, class T>
class RegionKernel : region::Chain<R, F16, VectorArithmetic<T>> {
  using Chain = region::Chain<R, F16, VectorArithmetic<T>>;
  using Chain::back;
  using Chain::kInputs;
  using Chain::kMeans;
  using Chain::kResults;
  using Chain::value;
  using typename Chain::Gradients;
  using typename Chain::Lane;
  using typename Chain::MeanList;
  using typename Chain::Results;

 public:
  [[gnu::flatten]] static void forward(
      const RegionArgs& args, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Row row = row_of(args, r);
      Lane lane = first_lane(args);
      region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
        F16 sum = splat(0);
        for_vectors(0, args.width, [&](int64_t i, int n) {
          load_inputs(row, i, n, lane);
          sum = sum + first(value(A{}, lane), n);
        });
        const float mean = reduce_add(sum) / static_cast<float>(args.width);
        args.row_means[r * kMeans + k] = mean;
        lane.mean[k] = splat(mean);
      });
      for_vectors(0, args.width, [&](int64_t i, int n) {
        load_inputs(row, i, n, lane);
        region::for_each(Results{}, [&](auto e, auto k) {
          put(static_cast<T*>(row.output[k]) + i, value(e, lane), n);
        });
      });
    }
  }

  [[gnu::flatten]] static void backward(
      const RegionArgs& args, int64_t begin, int64_t end, float* const* d_columns) {
    clear_columns(args.width, d_columns);
    for (int64_t r = begin; r < end; ++r) {
      const Row row = row_of(args, r);
      Lane lane = first_lane(args);
      for (int k = 0; k < kMeans; ++k) {
        lane.mean[k] = splat(args.row_means[r * kMeans + k]);
      }
      const Seeds seeds = mean_seeds(args.width, row, lane);
      for_vectors(0, args.width, [&](int64_t i, int n) {
        load_inputs(row, i, n, lane);
        Gradients g{};
        results_backward(row, i, n, lane, g);
        region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
          back(A{}, seeds[k], lane, g);
        });
        store_gradients(row, i, n, g, d_columns);
      });
    }
  }

  static constexpr int means() { return kMeans; }

 private:
  using Seeds = std::array<F16, kMeans + 1>;

  // Where one row's operands begin.
  struct Row {
    const void* input[kInputs];
    void* output[kResults];
    void* d_input[kInputs];
  };

  template <class V>
  static V* begin_of(const RegionOperand& operand, int64_t row) {
    if (operand.data == nullptr) {
      return nullptr;
    }
    return static_cast<V*>(operand.data) + row / operand.row_divisor * operand.row_stride;
  }

  static Row row_of(const RegionArgs& args, int64_t r) {
    Row row;
    for (int k = 0; k < kInputs; ++k) {
      const RegionOperand& from = args.inputs[k];
      switch (R::kInputs[k]) {
        case region::Kind::kRows:
          row.input[k] = begin_of<const T>(from, r);
          break;
        case region::Kind::kTable:
          row.input[k] = begin_of<const float>(from, r);
          break;
        case region::Kind::kColumns:
          row.input[k] = from.data;
          break;
      }
      row.d_input[k] = begin_of<T>(args.d_inputs[k], r);
    }
    for (int k = 0; k < kResults; ++k) {
      row.output[k] = begin_of<T>(args.outputs[k], r);
    }
    return row;
  }

  // The lanes behind the n-th must not count in sums.
  static F16 first(F16 a, int n) { return n == kLanes ? a : keep_first(a, n, splat(0)); }

  static Lane first_lane(const RegionArgs& args) {
    Lane lane;
    for (int k = 0; k < R::kScalars; ++k) {
      lane.scalar[k] = splat(args.scalars[k]);
    }
    return lane;
  }

  static void load_inputs(const Row& row, int64_t i, int n, Lane& lane) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((lane.input[I] = load_input<I>(row, i, n)), ...);
    }
    (std::make_index_sequence<kInputs>{});
  }

  template <size_t I>
  static F16 load_input(const Row& row, int64_t i, int n) {
    using V = std::conditional_t<R::kInputs[I] == region::Kind::kRows, T, float>;
    return get(static_cast<const V*>(row.input[I]) + i, n);
  }

  static void results_backward(
      const Row& row, int64_t i, int n, const Lane& lane, Gradients& g) {
    region::for_each(Results{}, [&](auto e, auto k) {
      back(e, get(static_cast<const T*>(row.output[k]) + i, n), lane, g);
    });
  }

  // What each element of a row mean's argument gets as its adjoint.
  static Seeds mean_seeds(int64_t width, const Row& row, Lane& lane) {
    Seeds sums{};
    if constexpr (kMeans > 0) {
      for_vectors(0, width, [&](int64_t i, int n) {
        load_inputs(row, i, n, lane);
        Gradients g{};
        results_backward(row, i, n, lane, g);
        for (int k = 0; k < kMeans; ++k) {
          sums[k] = sums[k] + first(g.mean[k], n);
        }
      });
      add_inner_means<kMeans - 1>(width, row, lane, sums);
    }
    return sums;
  }

  // Turns the sum of mean K into its seed, and adds what its argument gives to the means
  // inside it.
  template <int K>
  static void add_inner_means(int64_t width, const Row& row, Lane& lane, Seeds& sums) {
    sums[K] = splat(reduce_add(sums[K]) / static_cast<float>(width));
    if constexpr (K > 0) {
      region::for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
        if constexpr (k == K && region::size_of(region::MeansIn<A>{}) > 0) {
          for_vectors(0, width, [&](int64_t i, int n) {
            load_inputs(row, i, n, lane);
            Gradients g{};
            back(A{}, sums[K], lane, g);
            for (int inner = 0; inner < K; ++inner) {
              sums[inner] = sums[inner] + first(g.mean[inner], n);
            }
          });
        }
      });
      add_inner_means<K - 1>(width, row, lane, sums);
    }
  }

  static void clear_columns(int64_t width, float* const* d_columns) {
    for (int k = 0; k < kInputs; ++k) {
      if (d_columns[k] != nullptr) {
        for_vectors(
            0, width, [&](int64_t i, int n) { put(d_columns[k] + i, splat(0), n); });
      }
    }
  }

  static void store_gradients(
      const Row& row, int64_t i, int n, const Gradients& g, float* const* d_columns) {
    for (int k = 0; k < kInputs; ++k) {
      if (R::kInputs[k] == region::Kind::kRows && row.d_input[k] != nullptr) {
        put(static_cast<T*>(row.d_input[k]) + i, g.input[k], n);
      } else if (R::kInputs[k] == region::Kind::kColumns && d_columns[k] != nullptr) {
        put(d_columns[k] + i, get(d_columns[k] + i, n) + g.input[k], n);
      }
    }
  }
};

template <class R>
const RegionKernels& region_kernels() {
  using Fp32 = RegionKernel<R, float>;
  using Narrow = RegionKernel<R, Bf16>;
  static constexpr RegionKernels kKernels{
      &Fp32::forward,
      &Narrow::forward,
      &Fp32::backward,
      &Narrow::backward,
      Fp32::means()};
  return kKernels;
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
