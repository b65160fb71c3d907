#include "titan/ops/cpu/moe_rows.h"

#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

template <class T>
const T* row(const void* base, int64_t index, int64_t width) {
  return static_cast<const T*>(base) + index * width;
}

template <class T>
T* row(void* base, int64_t index, int64_t width) {
  return static_cast<T*>(base) + index * width;
}

template <class T>
void combine(const CombineRows& args, int64_t begin, int64_t end) {
  const int64_t width = args.width;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t* from = args.rows + t * args.slots;
    T* out = row<T>(args.out, t, width);
    for_vectors(0, width, [&](int64_t i, int n) {
      F16 sum = splat(0);
      for (int64_t j = 0; j < args.slots; ++j) {
        const float weight =
            args.weights == nullptr ? 1.0F : args.weights[t * args.slots + j];
        sum = fma(get(row<T>(args.y, from[j], width) + i, n), splat(weight), sum);
      }
      put(out + i, sum, n);
    });
  }
}

template <class T>
void combine_backward(const CombineRowsBackward& args, int64_t begin, int64_t end) {
  const int64_t width = args.width;
  for (int64_t t = begin; t < end; ++t) {
    const T* d_out = row<T>(args.d_out, t, width);
    for (int64_t j = t * args.slots; j < (t + 1) * args.slots; ++j) {
      const T* y = row<T>(args.y, args.rows[j], width);
      T* d_y = row<T>(args.d_y, args.rows[j], width);
      const F16 weight = splat(args.weights[j]);
      F16 product = splat(0);
      for_vectors(0, width, [&](int64_t i, int n) {
        const F16 d = get(d_out + i, n);
        product = fma(d, get(y + i, n), product);
        put(d_y + i, d * weight, n);
      });
      args.d_weights[j] = reduce_add(product);
    }
  }
}

template <class T>
void add_bias(const GroupBias& args, int64_t group, int64_t begin, int64_t end) {
  const T* bias = row<T>(args.bias, group, args.width);
  for (int64_t r = begin; r < end; ++r) {
    const T* y = row<T>(args.y, r, args.width);
    T* out = row<T>(args.out, r, args.width);
    for_vectors(0, args.width, [&](int64_t i, int n) {
      put(out + i, get(y + i, n) + get(bias + i, n), n);
    });
  }
}

template <class T>
void sum(const RowSums& args, int64_t group, int64_t begin, int64_t end) {
  for_vectors(0, args.width, [&](int64_t i, int n) {
    F16 total = splat(0);
    for (int64_t r = begin; r < end; ++r) {
      total = total + get(row<T>(args.x, r, args.width) + i, n);
    }
    put(args.sums + group * args.width + i, total, n);
  });
}

}  // namespace

void combine_rows(const CombineRows& args, int64_t begin, int64_t end) {
  args.bf16 ? combine<Bf16>(args, begin, end) : combine<float>(args, begin, end);
}

void combine_rows_backward(const CombineRowsBackward& args, int64_t begin, int64_t end) {
  args.bf16 ? combine_backward<Bf16>(args, begin, end)
            : combine_backward<float>(args, begin, end);
}

void group_bias(const GroupBias& args, int64_t group, int64_t begin, int64_t end) {
  args.bf16 ? add_bias<Bf16>(args, group, begin, end)
            : add_bias<float>(args, group, begin, end);
}

void sum_rows(const RowSums& args, int64_t group, int64_t begin, int64_t end) {
  args.bf16 ? sum<Bf16>(args, group, begin, end) : sum<float>(args, group, begin, end);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
