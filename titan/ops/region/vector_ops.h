// The operations of region chains on sixteen floats, and their derivatives. Included only
// by files that are compiled once per instruction set.
#pragma once

#include "titan/ops/cpu/vec.h"
#include "titan/ops/region/expression.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {

inline F16 evaluate(region::op::Add, F16 a, F16 b) {
  return a + b;
}

inline F16 evaluate(region::op::Subtract, F16 a, F16 b) {
  return a - b;
}

inline F16 evaluate(region::op::Multiply, F16 a, F16 b) {
  return a * b;
}

inline F16 evaluate(region::op::Min, F16 a, F16 b) {
  return where_less_equal(a, b, a, b);
}

inline F16 evaluate(region::op::Max, F16 a, F16 b) {
  return where_less_equal(b, a, a, b);
}

inline F16 evaluate(region::op::Exp, F16 a) {
  return exp(a);
}

inline F16 evaluate(region::op::Sigmoid, F16 a) {
  return splat(1) / (splat(1) + exp(splat(0) - a));
}

inline F16 evaluate(region::op::Rsqrt, F16 a) {
  return splat(1) / sqrt(a);
}

inline F16 evaluate(region::op::Relu, F16 a) {
  return max(splat(0), a);
}

// Near 0 an odd polynomial (the coefficients of Cephes' tanhf, relative error 1e-7), else
// from the exponential, where nothing cancels.
inline F16 evaluate(region::op::Tanh, F16 a) {
  const F16 square = a * a;
  F16 p = splat(-5.70498872745e-3F);
  p = fma(p, square, splat(2.06390887954e-2F));
  p = fma(p, square, splat(-5.37397155531e-2F));
  p = fma(p, square, splat(1.33314422036e-1F));
  p = fma(p, square, splat(-3.33332819422e-1F));
  const F16 near = fma(a * square, p, a);
  const F16 size = max(a, splat(0) - a);
  const F16 far = splat(1) - splat(2) / (exp(size + size) + splat(1));
  const F16 signed_far = where_less_equal(splat(0), a, far, splat(0) - far);
  return where_less_equal(size, splat(0.625F), near, signed_far);
}

// The argument of the tanh in GELU, and its derivative.
inline F16 gelu_inner(F16 a) {
  return splat(0.7978845608F) * fma(a * a * a, splat(0.044715F), a);
}

inline F16 gelu_inner_slope(F16 a) {
  return splat(0.7978845608F) * fma(a * a, splat(3 * 0.044715F), splat(1));
}

inline F16 evaluate(region::op::GeluTanh, F16 a) {
  const F16 t = evaluate(region::op::Tanh{}, gelu_inner(a));
  return splat(0.5F) * a * (splat(1) + t);
}

// d y / d a of y = op(a).
inline F16 slope(region::op::Exp, F16 /*a*/, F16 y) {
  return y;
}

inline F16 slope(region::op::Sigmoid, F16 /*a*/, F16 y) {
  return y * (splat(1) - y);
}

inline F16 slope(region::op::Tanh, F16 /*a*/, F16 y) {
  return fma(splat(0) - y, y, splat(1));
}

inline F16 slope(region::op::Rsqrt, F16 /*a*/, F16 y) {
  return splat(-0.5F) * y * y * y;
}

inline F16 slope(region::op::Relu, F16 a, F16 /*y*/) {
  return where_less_equal(a, splat(0), splat(0), splat(1));
}

inline F16 slope(region::op::GeluTanh, F16 a, F16 /*y*/) {
  const F16 t = evaluate(region::op::Tanh{}, gelu_inner(a));
  const F16 outer = fma(splat(0) - t, t, splat(1)) * gelu_inner_slope(a);
  return splat(0.5F) * fma(a, outer, splat(1) + t);
}

// The adjoints of both arguments from that of the result.
struct Slopes {
  F16 a, b;
};

inline Slopes slopes(region::op::Add, F16 d, F16 /*a*/, F16 /*b*/) {
  return {d, d};
}

inline Slopes slopes(region::op::Subtract, F16 d, F16 /*a*/, F16 /*b*/) {
  return {d, splat(0) - d};
}

inline Slopes slopes(region::op::Multiply, F16 d, F16 a, F16 b) {
  return {d * b, d * a};
}

inline Slopes slopes(region::op::Min, F16 d, F16 a, F16 b) {
  const F16 to_a = where_less_equal(a, b, d, splat(0));
  return {to_a, d - to_a};
}

inline Slopes slopes(region::op::Max, F16 d, F16 a, F16 b) {
  const F16 to_a = where_less_equal(b, a, d, splat(0));
  return {to_a, d - to_a};
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
