#include <memory>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "cli/bench_ops/cases.h"
#include "titan/ops/adamw.h"
#include "titan/ops/glu.h"
#include "titan/ops/norm.h"
#include "titan/ops/rope.h"
#include "titan/parallel/parameter_store.h"

namespace titan::cli {
namespace {

using at::Tensor;

constexpr int64_t kRows = 8192;

// The forward and the backward of one differentiable function each of ours and of the
// library's, as two cases. `passes`: row tensors that each direction must read or write.
struct RowWork {
  using Function = std::function<Tensor(const std::vector<Tensor>& inputs)>;

  std::string op;
  std::string shape;
  std::vector<Tensor> inputs;
  Function ours, library;
  int forward_passes, backward_passes;
};

void add_cases(RowWork work, std::vector<OpCase>& cases) {
  const double bytes = static_cast<double>(work.inputs[0].nbytes());
  const auto forward = [inputs = work.inputs](const RowWork::Function& f) {
    return [inputs, f] {
      const at::NoGradGuard off;
      f(inputs);
    };
  };
  cases.push_back(
      {.op = work.op,
       .shape = work.shape,
       .ours = forward(work.ours),
       .library = forward(work.library),
       .bytes = work.forward_passes * bytes});
  const auto backward = [&work](const RowWork::Function& f) {
    const at::AutoGradMode record(true);
    std::vector<Tensor> leaves;
    for (const Tensor& input : work.inputs) {
      leaves.push_back(input.detach().requires_grad_(true));
    }
    const Tensor y = f(leaves);
    const Tensor dy = at::randn(y.sizes()).to(y.scalar_type());
    return [leaves, y, dy] { torch::autograd::grad({y}, leaves, {dy}, true); };
  };
  cases.push_back(
      {.op = work.op + " backward",
       .shape = work.shape,
       .ours = backward(work.ours),
       .library = backward(work.library),
       .bytes = work.backward_passes * bytes});
}

}  // namespace

std::vector<OpCase> row_cases(at::ScalarType dtype) {
  const char* type = dtype == at::kBFloat16 ? "bf16" : "fp32";
  const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(dtype); };
  const auto context = std::make_shared<ops::OpContext>();
  std::vector<OpCase> cases;
  constexpr int64_t kDim = 576;
  const auto store = std::make_shared<parallel::ParameterStore>(dtype);
  const ops::Weight weight = store->declare(0, {"w", {kDim}, nn::Init::ones()});
  store->materialize();
  store->initialize(0);
  const Tensor w = at::ones({kDim}, at::TensorOptions(dtype));
  add_cases(
      {.op = "rms_norm",
       .shape = fmt::format("{} x {}, {}", kRows, kDim, type),
       .inputs = {random({kRows, kDim})},
       .ours =
           [=, keep = store](const auto& in) {
             return ops::rms_norm(in[0], weight, 1e-5, *context);
           },
       .library = [w](const auto& in) { return at::rms_norm(in[0], {kDim}, w, 1e-5); },
       .forward_passes = 2,
       .backward_passes = 3},
      cases);
  constexpr int64_t kHidden = 1536;
  add_cases(
      {.op = "swiglu",
       .shape = fmt::format("{} x {}, {}", kRows, kHidden, type),
       .inputs = {random({kRows, kHidden}), random({kRows, kHidden})},
       .ours = [=](const auto& in) { return ops::swiglu(in[0], in[1], *context); },
       .library = [](const auto& in) { return at::silu(in[0]) * in[1]; },
       .forward_passes = 3,
       .backward_passes = 5},
      cases);
  constexpr int64_t kHeads = 9;
  constexpr int64_t kHeadDim = 64;
  const Tensor angles = at::randn({kRows, kHeadDim / 2});
  const Tensor cosine = angles.cos();
  const Tensor sine = angles.sin();
  add_cases(
      {.op = "rope",
       .shape = fmt::format("{} x {} x {}, {}", kRows, kHeads, kHeadDim, type),
       .inputs = {random({kRows, kHeads, kHeadDim})},
       .ours = [=](const auto& in) { return ops::rope(in[0], cosine, sine); },
       .library =
           [c = at::cat({cosine, cosine}, -1).unsqueeze(1).to(dtype),
            s = at::cat({sine, sine}, -1).unsqueeze(1).to(dtype)](const auto& in) {
             const auto halves = in[0].chunk(2, -1);
             return in[0] * c + at::cat({halves[1].neg(), halves[0]}, -1) * s;
           },
       .forward_passes = 2,
       .backward_passes = 2},
      cases);
  return cases;
}

std::vector<OpCase> optimizer_cases() {
  constexpr int64_t kElements = 16 << 20;
  const auto state = std::make_shared<std::vector<Tensor>>();
  for (int i = 0; i < 4; ++i) {
    state->push_back(at::rand({kElements}));
  }
  const auto step = [state](const auto& update) {
    const ops::AdamWArgs args{.lr = 1e-3, .weight_decay = 0.1, .step = 3};
    auto& s = *state;
    update(args, s[0], s[1], s[2], s[3]);
  };
  return {
      {.op = "adamw",
       .shape = "16.8 M parameters, fp32",
       .ours = [=] { step(ops::adamw_step); },
       .library =
           [state] {
             // What a fused update of the library does: one pass over the four.
             auto& s = *state;
             static Tensor steps = at::full({}, 3.0F);
             at::_fused_adamw_(
                 {s[0]},
                 {s[1]},
                 {s[2]},
                 {s[3]},
                 {},
                 {steps},
                 1e-3,
                 0.9,
                 0.95,
                 0.1,
                 1e-8,
                 /*amsgrad=*/false,
                 /*maximize=*/false);
           },
       .bytes = 7.0 * 4 * kElements}};
}

}  // namespace titan::cli
