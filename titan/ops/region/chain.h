#pragma once
// Walks a chain: its values and gradients at one element (or one vector of elements) of a
// row. Generic in the number type V, so that the kernels of every processor share it.
//
// A chain is a tree: a shared part is walked once for each use, and the compiler merges
// the equal computations.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "titan/ops/region/expression.h"

#ifdef __CUDACC__
#define TITAN_HOST_DEVICE __host__ __device__
#else
#define TITAN_HOST_DEVICE
#endif

namespace titan::ops::region {

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

template <class E, class L = List<>>
using MeansIn = typename Means<E, L>::Type;

template <class Op, class A, class L>
struct Means<Unary<Op, A>, L> {
  using Type = MeansIn<A, L>;
};

template <class Op, class A, class B, class L>
struct Means<Binary<Op, A, B>, L> {
  using Type = MeansIn<B, MeansIn<A, L>>;
};

template <class A, class L>
struct Means<Rounded<A>, L> {
  using Type = MeansIn<A, L>;
};

template <class A, class L>
struct Means<RowMean<A>, L> {
  using Type = typename Append<MeansIn<A, L>, RowMean<A>>::Type;
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
template <template <class...> class Pack, class... E, class F, size_t... I>
TITAN_HOST_DEVICE inline void for_each_of(
    Pack<E...> /*pack*/, const F& f, std::index_sequence<I...> /*indices*/) {
  (f(E{}, std::integral_constant<int, int(I)>{}), ...);
}

template <template <class...> class Pack, class... E, class F>
TITAN_HOST_DEVICE inline void for_each(Pack<E...> pack, const F& f) {
  for_each_of(pack, f, std::make_index_sequence<sizeof...(E)>{});
}

// Region R in numbers V, which have + - *, and, found by their namespace,
//   V evaluate(Op, V a), V evaluate(Op, V a, V b)  the operations of expression.h
//   V slope(Op, V a, V y)                          dy / da of y = op(a)
//   {V a, b} slopes(Op, V d, V a, V b)             adjoints of the arguments
// Arithmetic supplies V number(double) and V rounded(V), to the dtype of the rows.
template <class R, class V, class Arithmetic>
struct Chain {
  using Results = Outputs<R>;
  using MeanList = MeansIn<Results>;
  static constexpr int kInputs = R::kInputs.size();
  static constexpr int kResults = std::tuple_size_v<Results>;
  static constexpr int kMeans = size_of(MeanList{});

  struct Lane {
    V input[kInputs];
    V scalar[R::kScalars + 1];
    V mean[kMeans + 1];
  };

  struct Gradients {
    V input[kInputs];
    V mean[kMeans + 1];
  };

  template <int I>
  TITAN_HOST_DEVICE static V value(Input<I> /*e*/, const Lane& lane) {
    return lane.input[I];
  }

  template <int I>
  TITAN_HOST_DEVICE static V value(Scalar<I> /*e*/, const Lane& lane) {
    return lane.scalar[I];
  }

  template <int N, int D>
  TITAN_HOST_DEVICE static V value(Number<N, D> /*e*/, const Lane& /*lane*/) {
    return Arithmetic::number(static_cast<double>(N) / D);
  }

  template <class A>
  TITAN_HOST_DEVICE static V value(RowMean<A> e, const Lane& lane) {
    return lane.mean[index_in<decltype(e)>(MeanList{})];
  }

  template <class A>
  TITAN_HOST_DEVICE static V value(Rounded<A> /*e*/, const Lane& lane) {
    return Arithmetic::rounded(value(A{}, lane));
  }

  template <class Op, class A>
  TITAN_HOST_DEVICE static V value(Unary<Op, A> /*e*/, const Lane& lane) {
    return evaluate(Op{}, value(A{}, lane));
  }

  template <class Op, class A, class B>
  TITAN_HOST_DEVICE static V value(Binary<Op, A, B> /*e*/, const Lane& lane) {
    return evaluate(Op{}, value(A{}, lane), value(B{}, lane));
  }

  // Adds the gradients of expression e, whose adjoint is d, to g.
  template <int I>
  TITAN_HOST_DEVICE static void back(
      Input<I> /*e*/, V d, const Lane& /*lane*/, Gradients& g) {
    g.input[I] = g.input[I] + d;
  }

  template <int I>
  TITAN_HOST_DEVICE static void back(
      Scalar<I> /*e*/, V /*d*/, const Lane& /*lane*/, Gradients& /*g*/) {}

  template <int N, int D>
  TITAN_HOST_DEVICE static void back(
      Number<N, D> /*e*/, V /*d*/, const Lane& /*lane*/, Gradients& /*g*/) {}

  template <class A>
  TITAN_HOST_DEVICE static void back(
      RowMean<A> e, V d, const Lane& /*lane*/, Gradients& g) {
    constexpr int k = index_in<decltype(e)>(MeanList{});
    g.mean[k] = g.mean[k] + d;
  }

  template <class A>
  TITAN_HOST_DEVICE static void back(
      Rounded<A> /*e*/, V d, const Lane& lane, Gradients& g) {
    back(A{}, d, lane, g);
  }

  template <class Op, class A>
  TITAN_HOST_DEVICE static void back(
      Unary<Op, A> e, V d, const Lane& lane, Gradients& g) {
    back(A{}, d * slope(Op{}, value(A{}, lane), value(e, lane)), lane, g);
  }

  template <class Op, class A, class B>
  TITAN_HOST_DEVICE static void back(
      Binary<Op, A, B> /*e*/, V d, const Lane& lane, Gradients& g) {
    const auto of = slopes(Op{}, d, value(A{}, lane), value(B{}, lane));
    back(A{}, of.a, lane, g);
    back(B{}, of.b, lane, g);
  }
};

}  // namespace titan::ops::region
