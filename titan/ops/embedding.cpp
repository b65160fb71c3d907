#include "titan/ops/embedding.h"

#include <numeric>

#include <ATen/ATen.h>

#include "titan/ops/cpu/parallel.h"
#include "titan/ops/library_op.h"
#include "titan/ops/saved_weight.h"

namespace titan::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Positions of the tokens, sorted by token and then ascending, and where each distinct
// token's run of them begins (with the end of the last one).
struct TokenRuns {
  std::vector<int64_t> positions;
  std::vector<int64_t> begins;

  explicit TokenRuns(const int64_t* tokens, int64_t count)
      : positions(static_cast<size_t>(count)) {
    std::iota(positions.begin(), positions.end(), 0);
    std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
      return tokens[a] < tokens[b];
    });
    for (int64_t i = 0; i < count; ++i) {
      if (i == 0 || tokens[at(i)] != tokens[at(i - 1)]) {
        begins.push_back(i);
      }
    }
    begins.push_back(count);
  }

  [[nodiscard]] int64_t at(int64_t i) const { return positions[static_cast<size_t>(i)]; }

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(begins.size()) - 1; }
};

// Each touched row of the gradient is summed over its tokens first, then stored or added.
template <class T>
void add_rows(
    const Tensor& dy, const Tensor& tokens, const WeightSource::GradView& grad) {
  const auto* token = tokens.const_data_ptr<int64_t>();
  const T* from = dy.const_data_ptr<T>();
  float* to = grad.buffer.mutable_data_ptr<float>();
  const int64_t width = dy.size(1);
  const TokenRuns runs(token, tokens.size(0));
  cpu::parallel_tasks(runs.size(), [&](cpu::Range part) {
    std::vector<float> sum(static_cast<size_t>(width));
    for (int64_t run = part.begin; run < part.end; ++run) {
      const int64_t begin = runs.begins[static_cast<size_t>(run)];
      const int64_t end = runs.begins[static_cast<size_t>(run) + 1];
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (int64_t i = begin; i < end; ++i) {
        const T* row = from + runs.at(i) * width;
        for (int64_t d = 0; d < width; ++d) {
          sum[static_cast<size_t>(d)] += static_cast<float>(row[d]);
        }
      }
      float* out = to + token[runs.at(begin)] * width;
      for (int64_t d = 0; d < width; ++d) {
        const float x = sum[static_cast<size_t>(d)];
        out[d] = grad.accumulate ? out[d] + x : x;
      }
    }
  });
}

struct EmbeddingFunction : torch::autograd::Function<EmbeddingFunction> {
  static Tensor forward(
      AutogradContext* ctx,
      const Tensor& tokens,
      const Tensor& /*stub*/,
      const WeightHandle& handle,
      OpContext* context) {
    ctx->save_for_backward({tokens});
    save_weight(ctx, handle, context);
    return handle.rows(tokens);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    if (ctx->needs_input_grad(kInputStub)) {
      const Tensor tokens = ctx->get_saved_variables().at(0).contiguous();
      const Tensor dy = grads[0].contiguous();
      const WeightHandle handle = saved_weight(ctx).handle;
      const WeightSource::GradView grad = handle.source->grad_view(handle.index);
      if (!grad.accumulate) {
        grad.buffer.zero_();
      }
      if (dy.scalar_type() == at::kFloat) {
        add_rows<float>(dy, tokens, grad);
      } else {
        add_rows<at::BFloat16>(dy, tokens, grad);
      }
    }
    return {Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor embedding(const Tensor& tokens, const Weight& weight, OpContext& context) {
  TORCH_CHECK(
      tokens.dim() == 1 && tokens.scalar_type() == at::kLong && weight.stub.dim() == 2,
      "[embedding] expected int64 tokens [T] and a weight [V, D], got ",
      tokens.scalar_type(),
      " ",
      tokens.sizes(),
      " and ",
      weight.sizes());
  if (!tokens.is_cpu()) {
    const auto plain = [](const auto& inputs, const auto& weights) {
      return std::vector{embedding_plain(inputs[0], weights[0])};
    };
    return library_op(plain, {tokens}, {weight}, context, "embedding").at(0);
  }
  return EmbeddingFunction::apply(tokens, weight.stub, weight.handle, &context);
}

Tensor embedding_plain(const Tensor& tokens, const Tensor& weight) {
  return at::embedding(weight, tokens);
}

}  // namespace titan::ops
