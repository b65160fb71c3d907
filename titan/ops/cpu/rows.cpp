#include "titan/ops/cpu/rows.h"

#include "titan/ops/cpu/vec.h"
#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// A head of 16 is one vector: y = x [c c] + swapped(x) [-s s].
template <class T>
void rope_heads_of_16(const Rope& args, int64_t begin, int64_t end) {
  constexpr int kHalf = kLanes / 2;
  for (int64_t t = begin; t < end; ++t) {
    const F16 c = load_first(args.cosine + t * kHalf, kHalf);
    const F16 s = load_first(args.sine + t * kHalf, kHalf);
    const F16 cosine = c + swap_halves(c);
    const F16 minus = splat(0) - s;
    const F16 sine = args.inverse ? s + swap_halves(minus) : minus + swap_halves(s);
    const T* x = static_cast<const T*>(args.x) + t * args.heads * kLanes;
    T* y = static_cast<T*>(args.y) + t * args.heads * kLanes;
    for (int64_t h = 0; h < args.heads; ++h) {
      const F16 a = load(x + h * kLanes);
      store(y + h * kLanes, fma(a, cosine, swap_halves(a) * sine));
    }
  }
}

template <class T>
void rope_rows(const Rope& args, int64_t begin, int64_t end) {
  if (args.width == kLanes) {
    rope_heads_of_16<T>(args, begin, end);
    return;
  }
  const int64_t half = args.width / 2;
  const F16 sign = splat(args.inverse ? -1.0F : 1.0F);
  for (int64_t t = begin; t < end; ++t) {
    const float* cosine = args.cosine + t * half;
    const float* sine = args.sine + t * half;
    for (int64_t h = 0; h < args.heads; ++h) {
      const T* x = static_cast<const T*>(args.x) + (t * args.heads + h) * args.width;
      T* y = static_cast<T*>(args.y) + (t * args.heads + h) * args.width;
      for_vectors(0, half, [&](int64_t i, int n) {
        const F16 c = get(cosine + i, n);
        const F16 s = get(sine + i, n) * sign;
        const F16 a = get(x + i, n);
        const F16 b = get(x + half + i, n);
        put(y + i, fma(a, c, (splat(0) - b) * s), n);
        put(y + half + i, fma(b, c, a * s), n);
      });
    }
  }
}

// Moments are kept as M.
template <class M>
void adamw_elements(const AdamW& args, int64_t begin, int64_t end) {
  M* first_moment = static_cast<M*>(args.first_moment);
  M* second_moment = static_cast<M*>(args.second_moment);
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 g = get(args.gradient + i, n) * splat(args.gradient_scale);
    const F16 m =
        fma(get(first_moment + i, n), splat(args.beta1), g * splat(args.one_minus_beta1));
    const F16 v =
        fma(get(second_moment + i, n),
            splat(args.beta2),
            g * g * splat(args.one_minus_beta2));
    const F16 root = fma(sqrt(v), splat(args.inverse_root_bias2), splat(args.eps));
    const F16 p = get(args.parameter + i, n);
    const F16 change = fma(p, splat(args.decay), splat(args.step_size) * (m / root));
    put(first_moment + i, m, n);
    put(second_moment + i, v, n);
    put(args.parameter + i, p - change, n);
  });
}

}  // namespace

void rope(const Rope& args, int64_t begin, int64_t end) {
  args.bf16 ? rope_rows<Bf16>(args, begin, end) : rope_rows<float>(args, begin, end);
}

void adamw(const AdamW& args, int64_t begin, int64_t end) {
  args.bf16_moments ? adamw_elements<Bf16>(args, begin, end)
                    : adamw_elements<float>(args, begin, end);
}

double sum_of_squares(const float* x, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const double a = x[i + j];
      lanes[j] += a * a;
    }
  }
  double sum = 0;
  for (; i < count; ++i) {
    sum += static_cast<double>(x[i]) * x[i];
  }
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
