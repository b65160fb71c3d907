// The operations of region chains on one float on the device, and their derivatives.
#pragma once

#include "titan/ops/region/expression.h"

namespace titan::ops::cuda {

// One element of a row. A class of its own, so that the functions below are found by its
// namespace.
struct Number {
  float x;
};

__device__ inline Number operator+(Number a, Number b) {
  return {a.x + b.x};
}

__device__ inline Number operator-(Number a, Number b) {
  return {a.x - b.x};
}

__device__ inline Number operator*(Number a, Number b) {
  return {a.x * b.x};
}

__device__ inline Number evaluate(region::op::Add, Number a, Number b) {
  return a + b;
}

__device__ inline Number evaluate(region::op::Subtract, Number a, Number b) {
  return a - b;
}

__device__ inline Number evaluate(region::op::Multiply, Number a, Number b) {
  return a * b;
}

__device__ inline Number evaluate(region::op::Min, Number a, Number b) {
  return a.x <= b.x ? a : b;
}

__device__ inline Number evaluate(region::op::Max, Number a, Number b) {
  return b.x <= a.x ? a : b;
}

__device__ inline Number evaluate(region::op::Exp, Number a) {
  return {expf(a.x)};
}

__device__ inline Number evaluate(region::op::Sigmoid, Number a) {
  return {1 / (1 + expf(-a.x))};
}

__device__ inline Number evaluate(region::op::Rsqrt, Number a) {
  return {1 / sqrtf(a.x)};
}

__device__ inline Number evaluate(region::op::Relu, Number a) {
  return a.x < 0 ? Number{0} : a;
}

__device__ inline Number evaluate(region::op::Tanh, Number a) {
  return {tanhf(a.x)};
}

__device__ inline float gelu_inner(float x) {
  return 0.7978845608F * (x + 0.044715F * x * x * x);
}

__device__ inline Number evaluate(region::op::GeluTanh, Number a) {
  return {0.5F * a.x * (1 + tanhf(gelu_inner(a.x)))};
}

// d y / d a of y = op(a).
__device__ inline Number slope(region::op::Exp, Number /*a*/, Number y) {
  return y;
}

__device__ inline Number slope(region::op::Sigmoid, Number /*a*/, Number y) {
  return {y.x * (1 - y.x)};
}

__device__ inline Number slope(region::op::Tanh, Number /*a*/, Number y) {
  return {1 - y.x * y.x};
}

__device__ inline Number slope(region::op::Rsqrt, Number /*a*/, Number y) {
  return {-0.5F * y.x * y.x * y.x};
}

__device__ inline Number slope(region::op::Relu, Number a, Number /*y*/) {
  return {a.x <= 0 ? 0.0F : 1.0F};
}

__device__ inline Number slope(region::op::GeluTanh, Number a, Number /*y*/) {
  const float t = tanhf(gelu_inner(a.x));
  const float inner = 0.7978845608F * (1 + 3 * 0.044715F * a.x * a.x);
  return {0.5F * (1 + t + a.x * (1 - t * t) * inner)};
}

struct Slopes {
  Number a, b;
};

__device__ inline Slopes slopes(region::op::Add, Number d, Number /*a*/, Number /*b*/) {
  return {d, d};
}

__device__ inline Slopes slopes(
    region::op::Subtract, Number d, Number /*a*/, Number /*b*/) {
  return {d, {-d.x}};
}

__device__ inline Slopes slopes(region::op::Multiply, Number d, Number a, Number b) {
  return {d * b, d * a};
}

__device__ inline Slopes slopes(region::op::Min, Number d, Number a, Number b) {
  return a.x <= b.x ? Slopes{d, {0}} : Slopes{{0}, d};
}

__device__ inline Slopes slopes(region::op::Max, Number d, Number a, Number b) {
  return b.x <= a.x ? Slopes{d, {0}} : Slopes{{0}, d};
}

}  // namespace titan::ops::cuda
