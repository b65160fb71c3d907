#include "titan/ops/sequence.h"

#include <numeric>

#include <ATen/ATen.h>

namespace titan::ops {

Tensor SequenceContext::positions() const {
  Tensor positions = at::empty({num_tokens()}, at::kLong);
  auto* out = positions.mutable_data_ptr<int64_t>();
  for (const SequenceSpan& span : spans) {
    std::iota(
        out + span.query_begin,
        out + span.query_begin + span.query_length,
        span.position);
  }
  return positions;
}

SequenceContext SequenceContext::packed(const std::vector<int64_t>& lengths) {
  SequenceContext context;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    context.spans.push_back(
        {.query_begin = begin, .query_length = length, .key_begin = begin});
    begin += length;
  }
  return context;
}

}  // namespace titan::ops
