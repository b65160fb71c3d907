#include "titan/parallel/parameter_store.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace titan::parallel {
namespace {

TEST(ParameterStore, InitialValuesDependOnSeedAndNameOnly) {
  ParameterStore one(at::kFloat);
  (void)one.declare(0, {"a", {3, 4}, nn::Init::normal(0.5)});
  (void)one.declare(1, {"b", {5}, nn::Init::normal(0.5)});
  ParameterStore two(at::kBFloat16);
  (void)two.declare(0, {"b", {5}, nn::Init::normal(0.5)});
  (void)two.declare(0, {"c", {2}, nn::Init::ones()});
  for (ParameterStore* store : {&one, &two}) {
    store->materialize();
    store->initialize(42);
  }
  EXPECT_TRUE(at::equal(one.find("b")->master(), two.find("b")->master()));
  EXPECT_FALSE(at::equal(
      one.find("a")->master().view({-1}).narrow(0, 0, 5), one.find("b")->master()));
  EXPECT_TRUE(at::equal(two.find("c")->master(), at::ones({2})));
  EXPECT_EQ(one.find("d"), nullptr);
  EXPECT_EQ(one.num_parameters(), 17);
}

TEST(ParameterStore, TheFirstGradientIsStoredLaterOnesAreAdded) {
  ParameterStore store(at::kFloat);
  const ops::Weight weight = store.declare(0, {"w", {2, 2}, nn::Init::ones()});
  store.materialize();
  const Tensor dw = at::full({2, 2}, 3.0F);
  weight.handle.source->add_grad(0, dw);
  weight.handle.source->add_grad(0, dw);
  EXPECT_TRUE(at::equal(store.find("w")->gradient(), 2 * dw));
  store.clear_gradients();
  weight.handle.source->add_grad(0, dw.to(at::kBFloat16));
  EXPECT_TRUE(at::equal(store.find("w")->gradient(), dw));
}

TEST(ParameterStore, AClearedGradientReadsAsZero) {
  ParameterStore store(at::kFloat);
  const ops::Weight weight = store.declare(0, {"w", {3}, nn::Init::ones()});
  store.materialize();
  weight.handle.source->add_grad(0, at::ones({3}));
  store.clear_gradients();
  EXPECT_TRUE(at::equal(store.buckets()[0]->flat_gradient(), at::zeros({16})));
}

TEST(ParameterStore, CopiesFollowTheMasters) {
  ParameterStore store(at::kBFloat16);
  const ops::Weight weight = store.declare(0, {"w", {64, 64}, nn::Init::ones()});
  store.materialize();
  store.initialize(0);
  EXPECT_EQ(weight.value().scalar_type(), at::kBFloat16);
  const Tensor packed = weight.handle.packed(ops::PackKind::kForward);
  EXPECT_TRUE(packed.is_same(weight.handle.packed(ops::PackKind::kForward)))
      << "made once";
  store.find("w")->master().fill_(2);
  store.values_changed();
  EXPECT_EQ(weight.value()[0][0].item<float>(), 2);
  EXPECT_FALSE(at::equal(packed, weight.handle.packed(ops::PackKind::kForward)));
}

TEST(ParameterStore, AStubHoldsOneElementWhateverItsShape) {
  ParameterStore store(at::kFloat);
  const ops::Weight weight =
      store.declare(0, {"w", {1 << 20, 1 << 20}, nn::Init::ones()});
  EXPECT_EQ(weight.stub.storage().nbytes(), sizeof(float));
  EXPECT_TRUE(weight.stub.requires_grad());
}

TEST(ParameterStore, UseBeforeMaterializeAndDoubleNamesAreErrors) {
  ParameterStore store(at::kFloat);
  const ops::Weight weight = store.declare(0, {"w", {2}, nn::Init::ones()});
  EXPECT_THROW((void)weight.value(), c10::Error);
  EXPECT_THROW((void)store.declare(1, {"w", {2}, nn::Init::ones()}), c10::Error);
}

}  // namespace
}  // namespace titan::parallel
