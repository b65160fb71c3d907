#include "titan/ops/cpu/router_rows.h"

#include <cstring>
#include <limits>

#include "titan/ops/cpu/scratch.h"
#include "titan/ops/cpu/vec_loops.h"

namespace titan::ops::cpu::TITAN_ISA_NAMESPACE {
namespace {

constexpr int kRowSlot = 4;
// Never chosen before a number or NaN.
constexpr int32_t kExcluded = std::numeric_limits<int32_t>::min();

// log(1 + u) for u in [0, 1], as 2 atanh(z) with z = u / (2 + u) <= 1/3.
inline F16 log1p(F16 u) {
  const F16 z = u / (splat(2) + u);
  const F16 square = z * z;
  F16 p = splat(1.0F / 15);
  for (const float c : {1.0F / 13, 1.0F / 11, 1.0F / 9, 1.0F / 7, 1.0F / 5, 1.0F / 3}) {
    p = fma(p, square, splat(c));
  }
  return splat(2) * fma(z * square, p, z);
}

inline F16 sigmoid(F16 x) {
  return splat(1) / (splat(1) + exp(splat(0) - x));
}

inline F16 sqrt_softplus(F16 x) {
  // max(0, x) passes NaN on.
  const F16 size = max(x, splat(0) - x);
  return sqrt(max(splat(0), x) + log1p(exp(splat(0) - size)));
}

// Scores that depend on one logit each.
void score_each(RouterScore score, const float* logits, int64_t count, float* scores) {
  for_vectors(0, count, [&](int64_t i, int n) {
    const F16 x = get(logits + i, n);
    const F16 s = score == RouterScore::kSigmoid        ? sigmoid(x)
                  : score == RouterScore::kSqrtSoftplus ? sqrt_softplus(x)
                                                        : x;
    put(scores + i, s, n);
  });
}

// Over `count` values, in place allowed.
void softmax(const float* logits, int64_t count, float* out) {
  const F16 lowest = splat(-std::numeric_limits<float>::infinity());
  F16 largest = lowest;
  for_vectors(0, count, [&](int64_t i, int n) {
    largest = max(largest, keep_first(get(logits + i, n), n, lowest));
  });
  const F16 top = splat(reduce_max(largest));
  F16 sums = splat(0);
  for_vectors(0, count, [&](int64_t i, int n) {
    const F16 e = keep_first(exp(get(logits + i, n) - top), n, splat(0));
    put(out + i, e, n);
    sums = sums + e;
  });
  const F16 sum = splat(reduce_add(sums));
  for_vectors(
      0, count, [&](int64_t i, int n) { put(out + i, get(out + i, n) / sum, n); });
}

// Integers in the order of the numbers, -0 equal to 0, NaN above all.
inline int32_t sort_key(float x) {
  if (x != x) {
    return std::numeric_limits<int32_t>::max();
  }
  int32_t bits = 0;
  x += 0.0F;  // -0 becomes 0
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? bits ^ std::numeric_limits<int32_t>::max() : bits;
}

// The k largest of `count` keys, the largest first and of equal ones the lower index.
// `best` gets their indices, `best_keys` is space for k keys.
void choose(
    const int32_t* keys, int64_t count, int64_t k, int64_t* best, int32_t* best_keys) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t key = keys[i];
    if (found == k && key <= best_keys[k - 1]) {
      continue;
    }
    int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && best_keys[at - 1] < key; --at) {
      best_keys[at] = best_keys[at - 1];
      best[at] = best[at - 1];
    }
    best_keys[at] = key;
    best[at] = i;
  }
}

// Space for one row; each member has num_experts elements.
struct Row {
  int64_t* groups;
  float* logits;  // in fp32
  float* scores;
  float* grads;
  float* other;
  int32_t* keys;
  int32_t* best_keys;
  int32_t* group_keys;

  explicit Row(int64_t num_experts) {
    // A 64-bit and seven 32-bit arrays.
    const size_t bytes = static_cast<size_t>(num_experts) * (8 + 7 * 4);
    groups = static_cast<int64_t*>(scratch(kRowSlot, bytes));
    logits = reinterpret_cast<float*>(groups + num_experts);
    scores = logits + num_experts;
    grads = scores + num_experts;
    other = grads + num_experts;
    keys = reinterpret_cast<int32_t*>(other + num_experts);
    best_keys = keys + num_experts;
    group_keys = best_keys + num_experts;
  }
};

template <class T>
void load_row(const void* all, int64_t r, int64_t count, float* out) {
  const T* from = static_cast<const T*>(all) + r * count;
  for_vectors(0, count, [&](int64_t i, int n) { put(out + i, get(from + i, n), n); });
}

// Excludes the experts of all groups but the kept ones.
void keep_groups(const RouterRows& args, const float* choice, Row& row) {
  const int64_t size = args.num_experts / args.router.num_groups;
  for (int64_t g = 0; g < args.router.num_groups; ++g) {
    int64_t two[2];
    choose(row.keys + g * size, size, 2, two, row.best_keys);
    row.group_keys[g] = sort_key(choice[g * size + two[0]] + choice[g * size + two[1]]);
  }
  choose(
      row.group_keys,
      args.router.num_groups,
      args.router.kept_groups,
      row.groups,
      row.best_keys);
  for (int64_t i = 0; i < args.router.kept_groups; ++i) {
    row.group_keys[row.groups[i]] = kExcluded;  // marks a kept group
  }
  for (int64_t e = 0; e < args.num_experts; ++e) {
    if (row.group_keys[e / size] != kExcluded) {
      row.keys[e] = kExcluded;
    }
  }
}

void choose_experts(const RouterRows& args, Row& row, int64_t* experts) {
  float* choice = row.other;
  for (int64_t e = 0; e < args.num_experts; ++e) {
    choice[e] = row.scores[e] + (args.bias == nullptr ? 0.0F : args.bias[e]);
    row.keys[e] = sort_key(choice[e]);
  }
  if (args.router.kept_groups < args.router.num_groups) {
    keep_groups(args, choice, row);
  }
  choose(row.keys, args.num_experts, args.router.top_k, experts, row.best_keys);
}

// What weights are divided by, given the scores of the chosen experts.
float divisor(const RouterArgs& args, const float* scores) {
  float sum = 0;
  for (int64_t j = 0; j < args.top_k; ++j) {
    sum += scores[j];
  }
  return args.renormalize ? sum + args.epsilon : 1.0F;
}

template <class T>
void route(const RouterRows& args, int64_t begin, int64_t end) {
  const int64_t k = args.router.top_k;
  Row row(args.num_experts);
  for (int64_t t = begin; t < end; ++t) {
    load_row<T>(args.logits, t, args.num_experts, row.logits);
    if (args.router.score == RouterScore::kSoftmax) {
      softmax(row.logits, args.num_experts, row.scores);
    } else {
      score_each(args.router.score, row.logits, args.num_experts, row.scores);
    }
    int64_t* experts = args.experts + t * k;
    if (args.chosen == nullptr) {
      choose_experts(args, row, experts);
    } else {
      std::memcpy(experts, args.chosen + t * k, static_cast<size_t>(k) * sizeof(int64_t));
    }
    float* weights = args.weights + t * k;
    for (int64_t j = 0; j < k; ++j) {
      weights[j] = row.scores[experts[j]];
    }
    if (args.router.score == RouterScore::kSoftmaxOfChosen) {
      softmax(weights, k, weights);
    }
    const float by = divisor(args.router, weights);
    for (int64_t j = 0; j < k; ++j) {
      weights[j] = args.router.scale * (weights[j] / by);
    }
  }
}

// d loss / d scores of the chosen experts, in place of d loss / d weights.
void score_gradients(const RouterArgs& args, const float* scores, float* grads) {
  const float by = divisor(args, scores);
  float inner = 0;  // sum of grad weight
  for (int64_t j = 0; j < args.top_k; ++j) {
    grads[j] *= args.scale;
    inner += grads[j] * (scores[j] / by);
  }
  for (int64_t j = 0; j < args.top_k; ++j) {
    grads[j] = args.renormalize ? (grads[j] - inner) / by : grads[j];
  }
}

// d loss / d logits from d loss / d scores, where the scores are a softmax over `count`.
void softmax_gradients(const float* scores, int64_t count, float* grads) {
  float inner = 0;
  for (int64_t i = 0; i < count; ++i) {
    inner += grads[i] * scores[i];
  }
  for (int64_t i = 0; i < count; ++i) {
    grads[i] = scores[i] * (grads[i] - inner);
  }
}

// The same where each score depends on its own logit.
void each_gradients(
    RouterScore score,
    const float* logits,
    const float* scores,
    int64_t k,
    float* grads) {
  for_vectors(0, k, [&](int64_t i, int n) {
    const F16 s = get(scores + i, n);
    F16 slope = s * (splat(1) - s);
    if (score == RouterScore::kSqrtSoftplus) {
      // sigmoid / (2 s), which goes to 0 with s.
      const F16 least = splat(std::numeric_limits<float>::min());
      slope = sigmoid(get(logits + i, n)) / (splat(2) * max(least, s));
    }
    put(grads + i, get(grads + i, n) * slope, n);
  });
}

// d loss / d scores of the chosen experts become those of their logits, for scores that
// do not depend on other experts.
void chosen_gradients(const RouterArgs& args, Row& row, const int64_t* experts) {
  float* logits = row.other;
  for (int64_t j = 0; j < args.top_k; ++j) {
    logits[j] = row.logits[experts[j]];
  }
  if (args.score == RouterScore::kSoftmaxOfChosen) {
    softmax(logits, args.top_k, row.scores);
    score_gradients(args, row.scores, row.grads);
    softmax_gradients(row.scores, args.top_k, row.grads);
  } else {
    score_each(args.score, logits, args.top_k, row.scores);
    score_gradients(args, row.scores, row.grads);
    each_gradients(args.score, logits, row.scores, args.top_k, row.grads);
  }
}

template <class T>
void route_backward(const RouterRowsBackward& args, int64_t begin, int64_t end) {
  const int64_t count = args.num_experts;
  const int64_t k = args.router.top_k;
  const bool softmax_of_all = args.router.score == RouterScore::kSoftmax;
  Row row(count);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t* experts = args.experts + t * k;
    load_row<T>(args.logits, t, count, row.logits);
    std::memcpy(
        row.grads, args.d_weights + t * k, static_cast<size_t>(k) * sizeof(float));
    if (softmax_of_all) {
      softmax(row.logits, count, row.scores);
      for (int64_t j = 0; j < k; ++j) {
        row.other[j] = row.scores[experts[j]];
      }
      score_gradients(args.router, row.other, row.grads);
    } else {
      chosen_gradients(args.router, row, experts);
    }
    float* all = row.other;
    std::memset(all, 0, static_cast<size_t>(count) * sizeof(float));
    for (int64_t j = 0; j < k; ++j) {
      all[experts[j]] += row.grads[j];
    }
    if (softmax_of_all) {
      softmax_gradients(row.scores, count, all);
    }
    T* to = static_cast<T*>(args.d_logits) + t * count;
    for_vectors(0, count, [&](int64_t i, int n) { put(to + i, get(all + i, n), n); });
  }
}

}  // namespace

void route_rows(const RouterRows& args, int64_t begin, int64_t end) {
  args.bf16 ? route<Bf16>(args, begin, end) : route<float>(args, begin, end);
}

void route_rows_backward(const RouterRowsBackward& args, int64_t begin, int64_t end) {
  args.bf16 ? route_backward<Bf16>(args, begin, end)
            : route_backward<float>(args, begin, end);
}

}  // namespace titan::ops::cpu::TITAN_ISA_NAMESPACE
