#pragma once
// The plain form of a region: its chain on tensors, one library call an operation.
// Differentiable.

#include <vector>

#include <ATen/ATen.h>

#include "titan/ops/region/expression.h"

namespace titan::ops::region {

// A value of a chain: an fp32 (or fp64) tensor that knows the dtype of the region's rows.
struct Plain {
  at::Tensor tensor;
  at::ScalarType storage;
};

// A constant beside `like`.
template <int N, int D>
Plain as_plain(Number<N, D> /*number*/, const Plain& like) {
  return {
      at::scalar_tensor(static_cast<double>(N) / D, like.tensor.options()), like.storage};
}

inline Plain as_plain(const Plain& a, const Plain& /*like*/) {
  return a;
}

template <class T>
inline constexpr bool kIsNumber = false;
template <int N, int D>
inline constexpr bool kIsNumber<Number<N, D>> = true;

template <class T>
concept NumberType = kIsNumber<T>;

inline Plain operator+(const Plain& a, const Plain& b) {
  return {a.tensor + b.tensor, a.storage};
}

inline Plain operator-(const Plain& a, const Plain& b) {
  return {a.tensor - b.tensor, a.storage};
}

inline Plain operator*(const Plain& a, const Plain& b) {
  return {a.tensor * b.tensor, a.storage};
}

Plain operator+(const Plain& a, NumberType auto b) {
  return a + as_plain(b, a);
}

Plain operator-(NumberType auto a, const Plain& b) {
  return as_plain(a, b) - b;
}

Plain operator-(const Plain& a, NumberType auto b) {
  return a - as_plain(b, a);
}

Plain operator*(const Plain& a, NumberType auto b) {
  return a * as_plain(b, a);
}

inline Plain sigmoid(const Plain& a) {
  return {at::sigmoid(a.tensor), a.storage};
}

inline Plain tanh(const Plain& a) {
  return {at::tanh(a.tensor), a.storage};
}

inline Plain exp(const Plain& a) {
  return {at::exp(a.tensor), a.storage};
}

inline Plain rsqrt(const Plain& a) {
  return {at::rsqrt(a.tensor), a.storage};
}

inline Plain relu(const Plain& a) {
  return {at::relu(a.tensor), a.storage};
}

inline Plain gelu_tanh(const Plain& a) {
  return {at::gelu(a.tensor, "tanh"), a.storage};
}

inline Plain minimum(const Plain& a, const Plain& b) {
  return {at::where(a.tensor <= b.tensor, a.tensor, b.tensor), a.storage};
}

inline Plain maximum(const Plain& a, const Plain& b) {
  return {at::where(a.tensor >= b.tensor, a.tensor, b.tensor), a.storage};
}

inline Plain row_mean(const Plain& a) {
  return {a.tensor.mean(-1, /*keepdim=*/true), a.storage};
}

inline Plain rounded(const Plain& a) {
  return {a.tensor.to(a.storage).to(a.tensor.scalar_type()), a.storage};
}

// The results of region R, [rows, width] of dtype `storage`. inputs: [rows, width],
// column inputs [width], computed in their dtype (fp32 or fp64); scalars as the chain
// takes them.
template <class R>
std::vector<at::Tensor> run_plain(
    const std::vector<at::Tensor>& inputs,
    const std::vector<double>& scalars,
    at::ScalarType storage) {
  const auto input = [&](size_t i) { return Plain{inputs.at(i), storage}; };
  const auto scalar = [&](size_t i) {
    return Plain{at::scalar_tensor(scalars.at(i), inputs.at(0).options()), storage};
  };
  const auto results = [&]<size_t... I, size_t... S>(
      std::index_sequence<I...>, std::index_sequence<S...>) {
    return R::chain(input(I)..., scalar(S)...);
  }
  (std::make_index_sequence<R::kInputs.size()>{},
   std::make_index_sequence<R::kScalars>{});
  if constexpr (std::is_same_v<decltype(results), const Plain>) {
    return {results.tensor.to(storage)};
  } else {
    return std::apply(
        [&](const auto&... r) {
          return std::vector<at::Tensor>{r.tensor.to(storage)...};
        },
        results);
  }
}

}  // namespace titan::ops::region
