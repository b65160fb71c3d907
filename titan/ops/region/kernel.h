// Makes the fused kernels of a region from its chain. Included only by files that are
// compiled once per instruction set.
//
// Forward: one pass over the row for each row mean, one for the results. Backward: the
// adjoint of a row mean is a sum over the row, so one pass collects those of the results,
// one more each mean that stands inside another, and a last one forms the gradients. A
// chain is a tree: a shared part is walked once for each use, and the compiler merges the
// equal computations.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "titan/ops/cpu/vec.h"
#include "titan/ops/cpu/vec_loops.h"
#include "titan/ops/region/expression.h"
#include "titan/ops/region/kernels.h"
#include "titan/ops/region/vector_ops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

template <class... E>
struct List {};

template <class L, class E>
struct Append;

template <class... T, class E>
struct Append<List<T...>, E> {
  using Type =
      std::conditional_t<(std::is_same_v<T, E> || ...), List<T...>, List<T..., E>>;
};

// The row means in E after those in L, inner ones first.
template <class E, class L>
struct Means {
  using Type = L;
};

template <class E, class L>
using MeansIn = typename Means<E, L>::Type;

template <class Op, class A, class L>
struct Means<region::Unary<Op, A>, L> {
  using Type = MeansIn<A, L>;
};

template <class Op, class A, class B, class L>
struct Means<region::Binary<Op, A, B>, L> {
  using Type = MeansIn<B, MeansIn<A, L>>;
};

template <class A, class L>
struct Means<region::Rounded<A>, L> {
  using Type = MeansIn<A, L>;
};

template <class A, class L>
struct Means<region::RowMean<A>, L> {
  using Type = typename Append<MeansIn<A, L>, region::RowMean<A>>::Type;
};

template <class L>
struct Means<std::tuple<>, L> {
  using Type = L;
};

template <class E, class... Rest, class L>
struct Means<std::tuple<E, Rest...>, L> {
  using Type = MeansIn<std::tuple<Rest...>, MeansIn<E, L>>;
};

template <class E, class... T>
constexpr int index_in(List<T...> /*list*/) {
  int index = 0;
  const bool found = ((std::is_same_v<E, T> || (++index, false)) || ...);
  return found ? index : -1;
}

template <class... T>
constexpr int size_of(List<T...> /*list*/) {
  return sizeof...(T);
}

// Calls f(E{}, index) for each E of a list or tuple.
template <template <class...> class Pack, class... E, class F>
inline void for_each(Pack<E...> /*pack*/, const F& f) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (f(E{}, std::integral_constant<int, I>{}), ...);
  }
  (std::make_index_sequence<sizeof...(E)>{});
}

// flatten: a call left in the inner loop would send every vector through memory.
template <class R, class T>
class RegionKernel {
 public:
  [[gnu::flatten]] static void forward(
      const RegionArgs& args, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Row row = row_of(args, r);
      Lane lane = first_lane(args);
      for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
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
        for_each(Results{}, [&](auto e, auto k) {
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
        for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
          back(A{}, seeds[k], lane, g);
        });
        store_gradients(row, i, n, g, d_columns);
      });
    }
  }

  static constexpr int means() { return kMeans; }

 private:
  using Results = region::Outputs<R>;
  using MeanList = MeansIn<Results, List<>>;
  static constexpr int kInputs = R::kInputs.size();
  static constexpr int kResults = std::tuple_size_v<Results>;
  static constexpr int kMeans = size_of(MeanList{});
  using Seeds = std::array<F16, kMeans + 1>;

  // Where one row's operands begin.
  struct Row {
    const void* input[kInputs];
    void* output[kResults];
    void* d_input[kInputs];
  };

  struct Lane {
    F16 input[kInputs];
    F16 scalar[R::kScalars + 1];
    F16 mean[kMeans + 1];
  };

  struct Gradients {
    F16 input[kInputs];
    F16 mean[kMeans + 1];
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

  template <int I>
  static F16 value(region::Input<I> /*e*/, const Lane& lane) {
    return lane.input[I];
  }

  template <int I>
  static F16 value(region::Scalar<I> /*e*/, const Lane& lane) {
    return lane.scalar[I];
  }

  template <int N, int D>
  static F16 value(region::Number<N, D> /*e*/, const Lane& /*lane*/) {
    return splat(static_cast<float>(static_cast<double>(N) / D));
  }

  template <class A>
  static F16 value(region::RowMean<A> e, const Lane& lane) {
    return lane.mean[index_in<decltype(e)>(MeanList{})];
  }

  template <class A>
  static F16 value(region::Rounded<A> /*e*/, const Lane& lane) {
    return rounded(value(A{}, lane), static_cast<const T*>(nullptr));
  }

  template <class Op, class A>
  static F16 value(region::Unary<Op, A> /*e*/, const Lane& lane) {
    return evaluate(Op{}, value(A{}, lane));
  }

  template <class Op, class A, class B>
  static F16 value(region::Binary<Op, A, B> /*e*/, const Lane& lane) {
    return evaluate(Op{}, value(A{}, lane), value(B{}, lane));
  }

  // Adds the gradients of expression e, whose adjoint is d, to g.
  template <int I>
  static void back(region::Input<I> /*e*/, F16 d, const Lane& /*lane*/, Gradients& g) {
    g.input[I] = g.input[I] + d;
  }

  template <int I>
  static void back(region::Scalar<I> /*e*/, F16, const Lane& /*lane*/, Gradients&) {}

  template <int N, int D>
  static void back(region::Number<N, D> /*e*/, F16, const Lane& /*lane*/, Gradients&) {}

  template <class A>
  static void back(region::RowMean<A> e, F16 d, const Lane& /*lane*/, Gradients& g) {
    constexpr int k = index_in<decltype(e)>(MeanList{});
    g.mean[k] = g.mean[k] + d;
  }

  template <class A>
  static void back(region::Rounded<A> /*e*/, F16 d, const Lane& lane, Gradients& g) {
    back(A{}, d, lane, g);
  }

  template <class Op, class A>
  static void back(region::Unary<Op, A> e, F16 d, const Lane& lane, Gradients& g) {
    back(A{}, d * slope(Op{}, value(A{}, lane), value(e, lane)), lane, g);
  }

  template <class Op, class A, class B>
  static void back(
      region::Binary<Op, A, B> /*e*/, F16 d, const Lane& lane, Gradients& g) {
    const auto [da, db] = slopes(Op{}, d, value(A{}, lane), value(B{}, lane));
    back(A{}, da, lane, g);
    back(B{}, db, lane, g);
  }

  static void results_backward(
      const Row& row, int64_t i, int n, const Lane& lane, Gradients& g) {
    for_each(Results{}, [&](auto e, auto k) {
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
      for_each(MeanList{}, [&]<class A>(region::RowMean<A> /*mean*/, auto k) {
        if constexpr (k == K && size_of(MeansIn<A, List<>>{}) > 0) {
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
