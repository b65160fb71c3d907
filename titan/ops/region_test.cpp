#include "titan/ops/region.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/ops/glu.h"
#include "titan/ops/norm.h"
#include "titan/ops/region/plain.h"
#include "titan/ops/regions.h"
#include "titan/ops/rope.h"
#include "titan/ops/test_tensors.h"
#include "titan/ops/test_weights.h"

namespace titan::ops {
namespace {

// Results and then the gradients of all differentiable inputs.
using Values = std::vector<Tensor>;

// The inputs of one application of a region to rows [T, W].
struct Inputs {
  std::vector<Tensor> rows;
  std::vector<Tensor> columns;
  std::vector<double> scalars;
  std::vector<Tensor> d_results;

  [[nodiscard]] Inputs narrow(int64_t begin, int64_t count) const {
    Inputs some = *this;
    for (std::vector<Tensor>* list : {&some.rows, &some.d_results}) {
      for (Tensor& t : *list) {
        t = t.narrow(0, begin, count);
      }
    }
    return some;
  }
};

Values run(const Region& region, const Inputs& in, const RegionTable* table) {
  TestWeights source;
  std::vector<Weight> weights;
  for (const Tensor& column : in.columns) {
    weights.push_back(source.add(column));
  }
  std::vector<Tensor> leaves;
  for (const Tensor& rows : in.rows) {
    leaves.push_back(rows.detach().set_requires_grad(true));
  }
  OpContext context{.regions = table};
  const auto call = RegionCall::over_rows(region, in.rows[0], in.scalars);
  const Values results = run_region(call, leaves, weights, context);
  std::vector<Tensor> inputs = leaves;
  for (const Weight& weight : weights) {
    inputs.push_back(weight.stub);
  }
  const auto grads =
      torch::autograd::grad(results, inputs, in.d_results, {}, false, true);
  Values values;
  for (const Tensor& result : results) {
    values.push_back(result.detach());
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    values.push_back(grads[i]);
  }
  for (const Weight& weight : weights) {
    values.push_back(source.grad(weight));
  }
  return values;
}

// The chain by library calls in `compute`, with results of dtype `storage`.
Values oracle(
    const Region& region,
    const Inputs& in,
    at::ScalarType compute,
    at::ScalarType storage) {
  std::vector<Tensor> leaves;
  std::vector<Tensor> inputs;
  const auto add = [&](const Tensor& t) {
    leaves.push_back(t.to(storage).detach().clone().set_requires_grad(true));
    inputs.push_back(leaves.back().to(compute));
  };
  for (const Tensor& rows : in.rows) {
    add(rows);
  }
  for (const Tensor& column : in.columns) {
    add(column);
  }
  const Values results = region.plain(inputs, in.scalars, storage);
  std::vector<Tensor> d_results;
  for (const Tensor& d : in.d_results) {
    d_results.push_back(d.to(storage));
  }
  const auto grads = torch::autograd::grad(results, leaves, d_results);
  Values values;
  for (const Tensor& result : results) {
    values.push_back(result.detach());
  }
  values.insert(values.end(), grads.begin(), grads.end());
  return values;
}

struct Case {
  std::string name;
  const Region& (*region)();
  std::vector<double> scalars;
};

std::vector<Case> cases() {
  return {
      {"swiglu", &region_of<region::Swiglu>, {}},
      {"geglu", &region_of<region::Geglu>, {}},
      {"clipped_swiglu", &region_of<region::ClippedSwiglu>, {1.702, 3.0}},
      {"soft_cap", &region_of<region::SoftCap>, {5.0, 1 / 5.0}},
      {"rms_norm", &region_of<region::RmsNorm>, {1e-5}},
      {"add_rms_norm", &region_of<region::AddRmsNorm>, {1e-5}}};
}

Inputs inputs_of(const Case& c, int64_t rows, int64_t width, at::ScalarType dtype) {
  Inputs in{.scalars = c.scalars};
  for (const region::Kind kind : c.region().inputs) {
    if (kind == region::Kind::kRows) {
      in.rows.push_back(test_tensor({rows, width}, dtype, 2));
    } else {
      in.columns.push_back(test_tensor({width}, dtype, 1));
    }
  }
  for (int i = 0; i < c.region().num_results; ++i) {
    in.d_results.push_back(test_tensor({rows, width}, dtype, 1));
  }
  return in;
}

class RegionTest : public testing::TestWithParam<std::tuple<Case, at::ScalarType>> {
 protected:
  static const Case& region_case() { return std::get<0>(GetParam()); }

  static at::ScalarType dtype() { return std::get<1>(GetParam()); }
};

TEST_P(RegionTest, ValueAndGradientsMatchTheOracle) {
  const Region& region = region_case().region();
  const RegionTable plain({});
  for (const auto& [rows, width] :
       {std::pair{1, 100}, {3, 17}, {70, 100}, {33, 576}, {512, 64}}) {
    SCOPED_TRACE(rows);
    const Inputs in = inputs_of(region_case(), rows, width, dtype());
    const Values exact = oracle(region, in, at::kDouble, at::kDouble);
    const Values library = oracle(region, in, at::kFloat, dtype());
    const Values fused = run(region, in, nullptr);
    const Values by_calls = run(region, in, &plain);
    ASSERT_EQ(fused.size(), exact.size());
    for (size_t i = 0; i < exact.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_TRUE(no_worse(fused[i], library[i], exact[i]));
      EXPECT_TRUE(no_worse(by_calls[i], library[i], exact[i]));
    }
  }
}

TEST_P(RegionTest, ARowHasTheSameBitsAmongAnyRowsAndThreads) {
  const Region& region = region_case().region();
  const size_t row_values = region.num_results + 1;
  for (const int64_t width : {16, 100, 333}) {
    const Inputs in = inputs_of(region_case(), 512, width, dtype());
    const ThreadCount one(1);
    const Values all = run(region, in, nullptr);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      EXPECT_TRUE(same_bits(run(region, in, nullptr).back(), all.back()));
      for (const int64_t m : kRowCounts) {
        const int64_t begin = (512 - m) / 2;
        const Values some = run(region, in.narrow(begin, m), nullptr);
        for (size_t i = 0; i < row_values; ++i) {
          EXPECT_TRUE(same_bits(some[i], all[i].narrow(0, begin, m)))
              << m << " rows, value " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Regions,
    RegionTest,
    testing::Combine(
        testing::ValuesIn(cases()), testing::Values(at::kFloat, at::kBFloat16)),
    [](const auto& info) {
      return std::get<0>(info.param).name + "_" +
             std::string(at::toString(std::get<1>(info.param)));
    });

TEST(Regions, QkNormRopeIsTheNormAndThenTheRotation) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : {16, 64, 72}) {
      SCOPED_TRACE(width);
      const Tensor x = test_tensor({40, 3, width}, dtype, 1);
      const Tensor w = test_tensor({width}, dtype, 1);
      const Tensor dy = test_tensor({40, 3, width}, dtype, 1);
      const Tensor angles = test_tensor({40, width / 2}, at::kFloat, 3);
      const auto differentiate = [&](const auto& f) {
        TestWeights source;
        const Weight weight = source.add(w);
        OpContext context;
        const Tensor leaf = x.detach().set_requires_grad(true);
        const Tensor y = f(leaf, weight, context);
        const auto grads =
            torch::autograd::grad({y}, {leaf, weight.stub}, {dy}, {}, false, true);
        return Values{y.detach(), grads[0], source.grad(weight)};
      };
      const Tensor cosine = angles.cos();
      const Tensor sine = angles.sin();
      const Values fused = differentiate([&](auto& leaf, auto& weight, auto& context) {
        return qk_norm_rope(leaf, weight, 1e-6, {cosine, sine}, context);
      });
      const Values split = differentiate([&](auto& leaf, auto& weight, auto& context) {
        return rope(rms_norm(leaf, weight, 1e-6, context), cosine, sine);
      });
      for (size_t i = 0; i < fused.size(); ++i) {
        const double bound = dtype == at::kFloat ? 1e-6 : 4e-3;
        EXPECT_LT(relative_error(fused[i], split[i].to(at::kDouble)), bound) << i;
      }
    }
  }
}

TEST(Regions, LargeGatesSaturateAndNanStays) {
  OpContext context;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Tensor gate = at::tensor({-1e4F, -90.0F, 90.0F, 1e4F, 0.0F}).to(dtype);
    const Tensor up = at::full_like(gate, 2);
    const Tensor expected = at::tensor({-0.0F, 0.0F, 180.0F, 2e4F, 0.0F}).to(dtype);
    EXPECT_TRUE(at::allclose(swiglu(gate, up, context), expected, 1e-2, 1e-30));
    const Tensor nan = at::full({20}, std::numeric_limits<float>::quiet_NaN()).to(dtype);
    for (const auto& f : {&swiglu, &geglu}) {
      EXPECT_TRUE(f(nan, at::ones_like(nan), context).isnan().all().item<bool>());
    }
  }
}

TEST(Regions, TheLastMatchingChoiceDecides) {
  const RegionTable table({"*", "rms_*=plain", "rms_norm"});
  EXPECT_EQ(table.find("swiglu"), nullptr);
  EXPECT_EQ(table.find("rms_norm"), nullptr);
  const RegionTable off({"*", "*norm=plain"});
  EXPECT_EQ(off.find("swiglu"), nullptr);
  ASSERT_NE(off.find("rms_norm"), nullptr);
  EXPECT_EQ(RegionTable({}).find("swiglu"), off.find("rms_norm"));
}

TEST(Regions, AReplacementRunsWhereItIsChosen) {
  int forwards = 0;
  int backwards = 0;
  region_implementations().add(
      "doubling",
      {.region = "swiglu",
       .description = "2 (gate + up)",
       .forward =
           [&](const RegionPass& pass) {
             ++forwards;
             pass.results[0].copy_((pass.tensors[0] + pass.tensors[1]) * 2);
           },
       .backward =
           [&](const RegionPass& pass) {
             ++backwards;
             pass.d_tensors[0].copy_(pass.results[0] * 2);
             pass.d_tensors[1].copy_(pass.results[0] * 2);
           }});
  const RegionTable table({"*", "swiglu=doubling"});
  OpContext context{.regions = &table};
  const Tensor gate = at::full({3, 5}, 1.5F).set_requires_grad(true);
  const Tensor up = at::full({3, 5}, 2.5F).set_requires_grad(true);
  const Tensor y = swiglu(gate, up, context);
  const auto grads = torch::autograd::grad({y}, {gate, up}, {at::ones({3, 5})});
  EXPECT_TRUE(same_bits(y.detach(), at::full({3, 5}, 8.0F)));
  EXPECT_TRUE(same_bits(grads[1], at::full({3, 5}, 2.0F)));
  EXPECT_EQ(forwards, 1);
  EXPECT_EQ(backwards, 1);
  geglu(gate, up, context);
  EXPECT_EQ(forwards, 1);
}

TEST(Regions, UnknownImplementationsAreRefused) {
  EXPECT_THROW(RegionTable({"swiglu=fussed"}), ConfigError);
  region_implementations().add("for_norms", {.region = "rms_norm"});
  EXPECT_THROW(RegionTable({"swiglu=for_norms"}), ConfigError);
}

TEST(Regions, UnlikeInputsAreRefused) {
  OpContext context;
  EXPECT_THROW(swiglu(at::zeros({3, 4}), at::zeros({3, 5}), context), c10::Error);
  EXPECT_THROW(
      swiglu(at::zeros({3, 4}, at::kDouble), at::zeros({3, 4}, at::kDouble), context),
      c10::Error);
  EXPECT_THROW(swiglu(at::zeros({4, 3}).t(), at::zeros({4, 3}).t(), context), c10::Error);
}

}  // namespace
}  // namespace titan::ops
