#include <cmath>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "cli/bench_ops/cases.h"
#include "titan/ops/attention.h"

namespace titan::cli {
namespace {

using at::Tensor;

struct Shape {
  int64_t documents, length, heads, kv_heads, dim;
};

// One pack of equal documents for us, the batch of the library's flash attention.
struct AttentionWork {
  AttentionWork(const Shape& s, at::ScalarType dtype)
      : sequence(ops::SequenceContext::packed(
            std::vector<int64_t>(static_cast<size_t>(s.documents), s.length))),
        rule{.scale = 1 / std::sqrt(static_cast<double>(s.dim))} {
    const at::AutoGradMode record(true);
    const int64_t tokens = s.documents * s.length;
    const auto leaf = [&](at::IntArrayRef sizes) {
      return at::randn(sizes).to(dtype).requires_grad_(true);
    };
    q = leaf({tokens, s.heads, s.dim});
    k = leaf({tokens, s.kv_heads, s.dim});
    v = leaf({tokens, s.kv_heads, s.dim});
    out = run();
    d_out = at::randn(out.sizes()).to(dtype);
    const auto batched = [&](const Tensor& rows) {
      // The library's kernel has no grouped heads: they are repeated before.
      return rows.detach()
          .view({s.documents, s.length, rows.size(1), s.dim})
          .transpose(1, 2)
          .repeat_interleave(s.heads / rows.size(1), 1)
          .contiguous()
          .requires_grad_(true);
    };
    library_q = batched(q);
    library_k = batched(k);
    library_v = batched(v);
    library_out = run_library();
    library_d_out = at::randn(library_out.sizes()).to(dtype);
  }

  Tensor run() {
    return ops::attention(
        {.query = q, .key = k, .value = v}, sequence, rule, context, "core");
  }

  [[nodiscard]] Tensor run_library() const {
    return at::scaled_dot_product_attention(
        library_q, library_k, library_v, {}, 0.0, /*is_causal=*/true);
  }

  ops::SequenceContext sequence;
  ops::AttentionRule rule;
  ops::OpContext context;
  Tensor q, k, v, out, d_out;
  Tensor library_q, library_k, library_v, library_out, library_d_out;
};

}  // namespace

std::vector<OpCase> attention_cases(at::ScalarType dtype) {
  const char* type = dtype == at::kBFloat16 ? "bf16" : "fp32";
  std::vector<OpCase> cases;
  for (const Shape& s :
       {Shape{4, 512, 9, 3, 64}, {1, 4096, 8, 8, 128}, {8, 2048, 16, 16, 16}}) {
    const auto work = std::make_shared<AttentionWork>(s, dtype);
    const std::string shape = fmt::format(
        "{} x {}, {} heads ({} kv), D {}, {}",
        s.documents,
        s.length,
        s.heads,
        s.kv_heads,
        s.dim,
        type);
    // Half of the scores are masked.
    const double product =
        static_cast<double>(s.documents * s.heads * s.length * s.length * s.dim);
    cases.push_back(
        {.op = "attention",
         .shape = shape,
         .ours =
             [work] {
               const at::NoGradGuard off;
               work->run();
             },
         .library =
             [work] {
               const at::NoGradGuard off;
               (void)work->run_library();
             },
         .flops = 2 * product});
    cases.push_back(
        {.op = "attention backward",
         .shape = shape,
         .ours =
             [work] {
               torch::autograd::grad(
                   {work->out}, {work->q, work->k, work->v}, {work->d_out}, true);
             },
         .library =
             [work] {
               torch::autograd::grad(
                   {work->library_out},
                   {work->library_q, work->library_k, work->library_v},
                   {work->library_d_out},
                   true);
             },
         .flops = 5 * product});
  }
  return cases;
}

}  // namespace titan::cli
