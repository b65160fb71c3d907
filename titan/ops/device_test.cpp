// The ops on a CUDA device against the CPU's kernels; skipped where there is none.

#include <chrono>
#include <functional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/embedding.h"
#include "titan/ops/glu.h"
#include "titan/ops/head.h"
#include "titan/ops/linear.h"
#include "titan/ops/norm.h"
#include "titan/ops/region.h"
#include "titan/ops/rope.h"
#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

// Result, gradients of the inputs, gradients of the weights.
using Values = std::vector<Tensor>;

struct OpUnderTest {
  std::string name;
  std::vector<Tensor> inputs;  // on the CPU; integers get no gradient
  std::vector<Tensor> weights;
  std::function<Tensor(
      const std::vector<Tensor>&, const std::vector<Weight>&, OpContext&)>
      run;
};

Values differentiate(
    const OpUnderTest& op, const at::Device& device, const RegionTable* regions) {
  TestWeights source;
  std::vector<Weight> weights;
  std::vector<Tensor> inputs;
  std::vector<Tensor> leaves;
  for (const Tensor& input : op.inputs) {
    inputs.push_back(input.to(device).detach());
    if (inputs.back().is_floating_point()) {
      leaves.push_back(inputs.back().requires_grad_(true));
    }
  }
  for (const Tensor& weight : op.weights) {
    weights.push_back(source.add(weight.to(device)));
    leaves.push_back(weights.back().stub);
  }
  OpContext context{.regions = regions};
  const Tensor y = op.run(inputs, weights, context);
  const Tensor dy = at::linspace(-1, 1, y.numel()).view(y.sizes()).to(y.options());
  const auto grads = torch::autograd::grad({y}, leaves, {dy}, {}, false, true);
  Values values = {y.detach()};
  for (size_t i = 0; i + weights.size() < leaves.size(); ++i) {
    values.push_back(grads[i]);
  }
  for (const Weight& weight : weights) {
    values.push_back(source.grad(weight));
  }
  for (Tensor& value : values) {
    value = value.cpu();
  }
  return values;
}

class DeviceTest : public testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (!at::globalContext().hasCUDA()) {
      GTEST_SKIP() << "no CUDA device";
    }
  }

  static Tensor random(at::IntArrayRef sizes) {
    return test_tensor(sizes, GetParam(), 1);
  }

  static std::vector<OpUnderTest> ops(int64_t rows) {
    const Tensor angles = test_tensor({rows, 32}, at::kFloat, 3);
    const Tensor cosine = angles.cos();
    const Tensor sine = angles.sin();
    return {
        {"linear",
         {random({rows, 64})},
         {random({48, 64})},
         [](auto& in, auto& w, auto& c) { return linear(in[0], w[0], c, "linear"); }},
        {"embedding",
         {at::arange(rows, at::kLong).remainder(30)},
         {random({48, 64})},
         [](auto& in, auto& w, auto& c) { return embedding(in[0], w[0], c); }},
        {"target_logprobs",
         {random({rows, 64}), at::arange(rows, at::kLong).remainder(48)},
         {random({48, 64})},
         [](auto& in, auto& w, auto& c) {
           return target_logprobs(in[0], w[0], in[1], c);
         }},
        {"swiglu",
         {random({rows, 100}), random({rows, 100})},
         {},
         [](auto& in, auto&, auto& c) { return swiglu(in[0], in[1], c); }},
        {"geglu",
         {random({rows, 100}), random({rows, 100})},
         {},
         [](auto& in, auto&, auto& c) { return geglu(in[0], in[1], c); }},
        {"rms_norm",
         {random({rows, 300})},
         {random({300})},
         [](auto& in, auto& w, auto& c) { return rms_norm(in[0], w[0], 1e-5, c); }},
        {"add_rms_norm",
         {random({rows, 300}), random({rows, 300})},
         {random({300})},
         [](auto& in, auto& w, auto& c) {
           const auto [sum, normed] = add_rms_norm(in[0], in[1], w[0], 1e-5, c);
           return at::cat({sum, normed}, 1);
         }},
        {"qk_norm_rope",
         {random({rows, 3, 64})},
         {random({64})},
         [=](auto& in, auto& w, auto& c) {
           const auto device = in[0].device();
           return qk_norm_rope(
               in[0], w[0], 1e-5, {cosine.to(device), sine.to(device)}, c);
         }},
    };
  }
};

TEST_P(DeviceTest, ValuesAndGradientsAreThoseOfTheCpu) {
  const RegionTable plain({});
  const double bound = GetParam() == at::kFloat ? 1e-5 : 2e-2;
  for (const int64_t rows : {1, 33, 257}) {
    for (const OpUnderTest& op : ops(rows)) {
      SCOPED_TRACE(op.name);
      const Values cpu = differentiate(op, at::kCPU, nullptr);
      for (const RegionTable* table :
           {static_cast<const RegionTable*>(nullptr), &plain}) {
        const Values device = differentiate(op, at::kCUDA, table);
        for (size_t i = 0; i < cpu.size(); ++i) {
          EXPECT_LT(relative_error(device[i], cpu[i].to(at::kDouble)), bound) << i;
        }
      }
    }
  }
}

TEST_P(DeviceTest, ARowOfARegionHasTheSameBitsAmongAnyRows) {
  const auto all_ops = ops(512);
  for (const OpUnderTest& op : all_ops) {
    if (op.name == "linear" || op.name == "embedding" || op.name == "target_logprobs" ||
        op.name == "qk_norm_rope") {
      continue;
    }
    SCOPED_TRACE(op.name);
    const Tensor all = differentiate(op, at::kCUDA, nullptr)[0];
    for (const int64_t m : kRowCounts) {
      OpUnderTest some = op;
      for (Tensor& input : some.inputs) {
        input = input.narrow(0, 100, std::min<int64_t>(m, 412));
      }
      const Tensor rows = differentiate(some, at::kCUDA, nullptr)[0];
      EXPECT_TRUE(same_bits(rows, all.narrow(0, 100, rows.size(0)))) << m;
    }
  }
}

// Prints what a fused region gains over its plain form on this device.
TEST_P(DeviceTest, PrintsTheTimesOfRegions) {
  const RegionTable plain({});
  const auto device = at::Device(at::kCUDA);
  const auto x = at::randn({16384, 4096}, at::TensorOptions(device).dtype(GetParam()));
  const auto milliseconds = [&](const RegionTable* table, const auto& f) {
    OpContext context{.regions = table};
    constexpr int kTries = 20;
    f(context);
    x.sum().item<double>();  // waits for the device
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kTries; ++i) {
      f(context);
    }
    x.sum().item<double>();
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    return spent.count() / kTries;
  };
  const auto print = [&](const char* name, const auto& f) {
    const double fused = milliseconds(nullptr, f);
    const double by_calls = milliseconds(&plain, f);
    printf(
        "%-12s %-9s fused %8.3f ms  plain %8.3f ms  ratio %.2f\n",
        name,
        at::toString(GetParam()),
        fused,
        by_calls,
        by_calls / fused);
  };
  const at::NoGradGuard off;
  TestWeights source;
  const Weight weight = source.add(at::ones({4096}, x.options()));
  print("swiglu", [&](auto& context) { swiglu(x, x, context); });
  print("rms_norm", [&](auto& context) { rms_norm(x, weight, 1e-5, context); });
  print(
      "add_rms_norm", [&](auto& context) { add_rms_norm(x, x, weight, 1e-5, context); });
}

INSTANTIATE_TEST_SUITE_P(
    Dtypes, DeviceTest, testing::Values(at::kFloat, at::kBFloat16), [](const auto& info) {
      return std::string(at::toString(info.param));
    });

}  // namespace
}  // namespace titan::ops
