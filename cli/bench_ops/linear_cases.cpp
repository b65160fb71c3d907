#include <memory>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "cli/bench_ops/cases.h"
#include "cli/bench_ops/one_weight.h"
#include "titan/ops/head.h"
#include "titan/ops/linear.h"

namespace titan::cli {
namespace {

using at::Tensor;

std::string_view name_of(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bf16" : "fp32";
}

struct LinearWork {
  LinearWork(int64_t m, int64_t n, int64_t k, at::ScalarType dtype)
      : parameter(n, k, dtype),
        x(at::randn({m, k}).to(dtype)),
        w(at::randn({n, k}).mul_(0.02).to(dtype)),
        dy(at::randn({m, n}).to(dtype)),
        library_gradient(at::zeros({n, k}, at::kFloat)) {
    const at::AutoGradMode record(true);
    leaf = x.detach().requires_grad_(true);
    y = ops::linear(leaf, parameter.weight, parameter.context, "");
  }

  OneWeight parameter;
  Tensor x, w, dy, library_gradient;
  Tensor leaf, y;
};

}  // namespace

std::vector<OpCase> linear_cases(at::ScalarType dtype) {
  std::vector<OpCase> cases;
  const std::string_view type = name_of(dtype);
  // q and o, k and v, gate and up, down of SmolLM2-135M.
  constexpr std::pair<int64_t, int64_t> kShapes[] = {
      {576, 576}, {192, 576}, {1536, 576}, {576, 1536}};
  for (const auto& [n, k] : kShapes) {
    constexpr int64_t kRows = 2048;
    const auto work = std::make_shared<LinearWork>(kRows, n, k, dtype);
    const std::string shape = fmt::format("{} x {} -> {}, {}", kRows, k, n, type);
    const double flops = 2.0 * static_cast<double>(kRows * n * k);
    cases.push_back(
        {.op = "linear forward",
         .shape = shape,
         .ours =
             [work] {
               const at::NoGradGuard off;
               ops::linear(work->x, work->parameter.weight, work->parameter.context, "");
             },
         .library = [work] { at::linear(work->x, work->w); },
         .flops = flops});
    cases.push_back(
        {.op = "linear dX",
         .shape = shape,
         .ours =
             [work] { torch::autograd::grad({work->y}, {work->leaf}, {work->dy}, true); },
         .library = [work] { at::mm(work->dy, work->w); },
         .flops = flops});
    cases.push_back(
        {.op = "linear dW",
         .shape = shape,
         .ours =
             [work] {
               torch::autograd::grad(
                   {work->y},
                   {work->parameter.weight.stub},
                   {work->dy},
                   true,
                   false,
                   true);
             },
         .library =
             [work] { work->library_gradient.add_(at::mm(work->dy.t(), work->x)); },
         .flops = flops});
  }
  for (const int64_t m : {1, 4, 16}) {
    constexpr int64_t kIn = 576;
    constexpr int64_t kOut = 1536;
    const auto work = std::make_shared<LinearWork>(m, kOut, kIn, dtype);
    cases.push_back(
        {.op = "linear, few rows",
         .shape = fmt::format("{} x {} -> {}, {}", m, kIn, kOut, type),
         .ours =
             [work] {
               const at::NoGradGuard off;
               ops::linear(work->x, work->parameter.weight, work->parameter.context, "");
             },
         .library = [work] { at::linear(work->x, work->w); },
         .flops = 2.0 * static_cast<double>(m * kIn * kOut)});
  }
  return cases;
}

std::vector<OpCase> head_cases(at::ScalarType dtype) {
  constexpr int64_t kRows = 2048;
  constexpr int64_t kDim = 576;
  constexpr int64_t kVocabulary = 49152;
  const auto work = std::make_shared<LinearWork>(1, kVocabulary, kDim, dtype);
  const Tensor x = at::randn({kRows, kDim}).to(dtype);
  const Tensor targets = at::randint(kVocabulary, {kRows}, at::kLong);
  const auto step = [x](const auto& loss_of, const Tensor& weight) {
    const at::AutoGradMode record(true);
    const Tensor leaf = x.detach().requires_grad_(true);
    torch::autograd::grad({loss_of(leaf)}, {leaf, weight}, {}, false, false, true);
  };
  const Tensor w = work->w.detach().requires_grad_(true);
  return {
      {.op = "linear + cross-entropy",
       .shape =
           fmt::format("{} x {}, V {}, {}", kRows, kDim, kVocabulary, name_of(dtype)),
       .ours =
           [=] {
             const auto loss = [&](const Tensor& leaf) {
               ops::OpContext& context = work->parameter.context;
               const ops::Weight& weight = work->parameter.weight;
               return ops::target_logprobs(leaf, weight, targets, context).sum();
             };
             step(loss, work->parameter.weight.stub);
           },
       .library =
           [=] {
             const auto loss = [&](const Tensor& leaf) {
               return at::cross_entropy_loss(at::linear(leaf, w).to(at::kFloat), targets);
             };
             step(loss, w);
           },
       .flops = 3 * 2.0 * static_cast<double>(kRows * kDim * kVocabulary)}};
}

}  // namespace titan::cli
