#pragma once
// The language of regions: a point-wise chain over rows, which may also reduce a row, is
// written once as a generic function
//
//   static auto chain(auto gate, auto up) { return silu(gate) * up; }
//
// Called with tensors it is the plain form. Called with the empty expression types below
// it becomes a type from which the fused forward and backward kernels are made at compile
// time (kernel.h): nothing here exists at run time.

#include <cmath>
#include <concepts>
#include <tuple>
#include <type_traits>

namespace titan::ops::region {

// Leaves: the I-th input, the I-th run-time scalar, a rational number.
template <int I>
struct Input {};

template <int I>
struct Scalar {};

template <int Numerator, int Denominator>
struct Number {};

template <class Op, class A>
struct Unary {};

template <class Op, class A, class B>
struct Binary {};

// The mean over the row; the same for all its elements.
template <class A>
struct RowMean {};

// Rounded to the dtype of the region's rows; the gradient passes unchanged.
template <class A>
struct Rounded {};

template <class T>
inline constexpr bool kIsExpression = false;
template <int I>
inline constexpr bool kIsExpression<Input<I>> = true;
template <int I>
inline constexpr bool kIsExpression<Scalar<I>> = true;
template <int N, int D>
inline constexpr bool kIsExpression<Number<N, D>> = true;
template <class Op, class A>
inline constexpr bool kIsExpression<Unary<Op, A>> = true;
template <class Op, class A, class B>
inline constexpr bool kIsExpression<Binary<Op, A, B>> = true;
template <class A>
inline constexpr bool kIsExpression<RowMean<A>> = true;
template <class A>
inline constexpr bool kIsExpression<Rounded<A>> = true;

template <class T>
concept Expression = kIsExpression<T>;

namespace op {

struct Add {};

struct Subtract {};

struct Multiply {};

struct Sigmoid {};

struct Tanh {};

struct Exp {};

struct Rsqrt {};

struct Relu {};

struct GeluTanh {};

struct Min {};

struct Max {};

}  // namespace op

constexpr auto operator+(Expression auto a, Expression auto b) {
  return Binary<op::Add, decltype(a), decltype(b)>{};
}

constexpr auto operator-(Expression auto a, Expression auto b) {
  return Binary<op::Subtract, decltype(a), decltype(b)>{};
}

constexpr auto operator*(Expression auto a, Expression auto b) {
  return Binary<op::Multiply, decltype(a), decltype(b)>{};
}

// A rational constant in a chain, e.g. number<1, 2>.
template <int Numerator, int Denominator = 1>
inline constexpr Number<Numerator, Denominator> number{};

constexpr auto sigmoid(Expression auto a) {
  return Unary<op::Sigmoid, decltype(a)>{};
}

constexpr auto tanh(Expression auto a) {
  return Unary<op::Tanh, decltype(a)>{};
}

constexpr auto exp(Expression auto a) {
  return Unary<op::Exp, decltype(a)>{};
}

constexpr auto rsqrt(Expression auto a) {
  return Unary<op::Rsqrt, decltype(a)>{};
}

constexpr auto relu(Expression auto a) {
  return Unary<op::Relu, decltype(a)>{};
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016).
constexpr auto gelu_tanh(Expression auto a) {
  return Unary<op::GeluTanh, decltype(a)>{};
}

// The smaller and the larger of two; the gradient goes to the one that is taken, to the
// first where they are equal.
constexpr auto minimum(Expression auto a, Expression auto b) {
  return Binary<op::Min, decltype(a), decltype(b)>{};
}

constexpr auto maximum(Expression auto a, Expression auto b) {
  return Binary<op::Max, decltype(a), decltype(b)>{};
}

constexpr auto row_mean(Expression auto a) {
  return RowMean<decltype(a)>{};
}

constexpr auto rounded(Expression auto a) {
  return Rounded<decltype(a)>{};
}

// What an input is.
enum class Kind {
  kRows,     // one value an element, in the dtype of the region, differentiable
  kColumns,  // one value a column, a parameter in fp32, differentiable
  kTable,    // one value an element, fp32, not differentiable
};

// The chain of region R as a tuple of expressions.
template <class R>
constexpr auto expressions_of() {
  return
      []<size_t... I, size_t... S>(std::index_sequence<I...>, std::index_sequence<S...>) {
    const auto result = R::chain(Input<int(I)>{}..., Scalar<int(S)>{}...);
    if constexpr (Expression<std::remove_const_t<decltype(result)>>) {
      return std::tuple{result};
    } else {
      return result;
    }
  }
  (std::make_index_sequence<R::kInputs.size()>{},
   std::make_index_sequence<R::kScalars>{});
}

template <class R>
using Outputs = decltype(expressions_of<R>());

}  // namespace titan::ops::region
