#include "titan/ops/cpu/rows.h"

#include "titan/ops/cpu/vec.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

// Calls step(i, n) for the vectors of [begin, end): n = 16 lanes from i on, fewer at the
// end. The constant in the loop lets the compiler drop the masks there.
template <class Step>
inline void for_vectors(int64_t begin, int64_t end, const Step& step) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    step(i, kLanes);
  }
  if (i < end) {
    step(i, static_cast<int>(end - i));
  }
}

template <class T>
inline F16 get(const T* p, int n) {
  return n == kLanes ? load(p) : load_first(p, n);
}

template <class T>
inline void put(T* p, F16 a, int n) {
  n == kLanes ? store(p, a) : store_first(p, a, n);
}

// To the precision of T and back.
inline F16 rounded(F16 a, const float*) {
  return a;
}

inline F16 rounded(F16 a, const Bf16*) {
  Bf16 lanes[kLanes];
  store(lanes, a);
  return load(lanes);
}

template <class T>
void rms_norm_rows(const RmsNorm& args, int64_t begin, int64_t end) {
  const int64_t width = args.width;
  for (int64_t r = begin; r < end; ++r) {
    const T* x = static_cast<const T*>(args.x) + r * width;
    T* y = static_cast<T*>(args.y) + r * width;
    F16 squares = splat(0);
    for_vectors(0, width, [&](int64_t i, int n) {
      const F16 a = get(x + i, n);
      squares = fma(a, a, squares);
    });
    const float mean = reduce_add(squares) / static_cast<float>(width);
    const float inverse = 1.0F / __builtin_sqrtf(mean + args.eps);
    args.inverse_rms[r] = inverse;
    for_vectors(0, width, [&](int64_t i, int n) {
      const F16 normed = rounded(get(x + i, n) * splat(inverse), x);
      put(y + i, normed * get(args.weight + i, n), n);
    });
  }
}

// With n = x / rms and g = dy * w: dx = (g - n * mean(g * n)) / rms.
template <class T>
void rms_norm_backward_rows(
    const RmsNormBackward& args, int64_t begin, int64_t end, float* d_weight) {
  const int64_t width = args.width;
  if (d_weight != nullptr) {
    for_vectors(0, width, [&](int64_t i, int n) { put(d_weight + i, splat(0), n); });
  }
  for (int64_t r = begin; r < end; ++r) {
    const T* x = static_cast<const T*>(args.x) + r * width;
    const T* dy = static_cast<const T*>(args.dy) + r * width;
    const F16 inverse = splat(args.inverse_rms[r]);
    F16 products = splat(0);
    for_vectors(0, width, [&](int64_t i, int n) {
      const F16 dy_n = get(dy + i, n) * (get(x + i, n) * inverse);
      products = fma(dy_n, get(args.weight + i, n), products);
      if (d_weight != nullptr) {
        put(d_weight + i, get(d_weight + i, n) + dy_n, n);
      }
    });
    if (args.dx == nullptr) {
      continue;
    }
    T* dx = static_cast<T*>(args.dx) + r * width;
    const F16 mean = splat(reduce_add(products) / static_cast<float>(width));
    for_vectors(0, width, [&](int64_t i, int n) {
      const F16 g = get(dy + i, n) * get(args.weight + i, n);
      const F16 normed = get(x + i, n) * inverse;
      put(dx + i, (g - normed * mean) * inverse, n);
    });
  }
}

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

inline F16 sigmoid(F16 x) {
  return splat(1) / (splat(1) + exp(splat(0) - x));
}

template <class T>
void swiglu_elements(const Swiglu& args, int64_t begin, int64_t end) {
  const auto* gate = static_cast<const T*>(args.gate);
  const auto* up = static_cast<const T*>(args.up);
  auto* y = static_cast<T*>(args.y);
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 g = get(gate + i, n);
    put(y + i, g * sigmoid(g) * get(up + i, n), n);
  });
}

template <class T>
void swiglu_backward_elements(const SwigluBackward& args, int64_t begin, int64_t end) {
  const auto* gate = static_cast<const T*>(args.gate);
  const auto* up = static_cast<const T*>(args.up);
  const auto* dy = static_cast<const T*>(args.dy);
  auto* d_gate = static_cast<T*>(args.d_gate);
  auto* d_up = static_cast<T*>(args.d_up);
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 g = get(gate + i, n);
    const F16 d = get(dy + i, n);
    const F16 s = sigmoid(g);
    // silu'(g) = s (1 + g (1 - s))
    const F16 slope = s * fma(g, splat(1) - s, splat(1));
    put(d_gate + i, d * get(up + i, n) * slope, n);
    put(d_up + i, d * g * s, n);
  });
}

}  // namespace

void rms_norm(const RmsNorm& args, int64_t begin, int64_t end) {
  args.bf16 ? rms_norm_rows<Bf16>(args, begin, end)
            : rms_norm_rows<float>(args, begin, end);
}

void rms_norm_backward(
    const RmsNormBackward& args, int64_t begin, int64_t end, float* d_weight) {
  args.bf16 ? rms_norm_backward_rows<Bf16>(args, begin, end, d_weight)
            : rms_norm_backward_rows<float>(args, begin, end, d_weight);
}

void rope(const Rope& args, int64_t begin, int64_t end) {
  args.bf16 ? rope_rows<Bf16>(args, begin, end) : rope_rows<float>(args, begin, end);
}

void swiglu(const Swiglu& args, int64_t begin, int64_t end) {
  args.bf16 ? swiglu_elements<Bf16>(args, begin, end)
            : swiglu_elements<float>(args, begin, end);
}

void swiglu_backward(const SwigluBackward& args, int64_t begin, int64_t end) {
  args.bf16 ? swiglu_backward_elements<Bf16>(args, begin, end)
            : swiglu_backward_elements<float>(args, begin, end);
}

void adamw(const AdamW& args, int64_t begin, int64_t end) {
  for_vectors(begin, end, [&](int64_t i, int n) {
    const F16 g = get(args.gradient + i, n) * splat(args.gradient_scale);
    const F16 m =
        fma(get(args.first_moment + i, n),
            splat(args.beta1),
            g * splat(args.one_minus_beta1));
    const F16 v =
        fma(get(args.second_moment + i, n),
            splat(args.beta2),
            g * g * splat(args.one_minus_beta2));
    const F16 root = fma(sqrt(v), splat(args.inverse_root_bias2), splat(args.eps));
    const F16 p = get(args.parameter + i, n);
    const F16 change = fma(p, splat(args.decay), splat(args.step_size) * (m / root));
    put(args.first_moment + i, m, n);
    put(args.second_moment + i, v, n);
    put(args.parameter + i, p - change, n);
  });
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
