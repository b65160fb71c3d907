#include "titan/models/common/parity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "titan/checkpoint/hf_folder.h"
#include "titan/checkpoint/safetensors.h"
#include "titan/config/dump.h"
#include "titan/models/common/open.h"
#include "titan/models/common/weights.h"
#include "titan/ops/head.h"

namespace titan::models {
namespace {

struct Fixture {
  explicit Fixture(const std::string& folder, at::ScalarType dtype = at::kFloat)
      : opened(open_model(folder, {.compute_dtype = dtype})),
        model(*opened.model),
        reference(folder + "/reference.safetensors") {}

  [[nodiscard]] Tensor of(const std::string& name) const {
    return reference.tensor(name);
  }

  OpenedModel opened;
  CausalLm& model;
  checkpoint::SafetensorsFile reference;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

double largest(const Tensor& a) {
  return a.to(at::kDouble).abs().max().item<double>();
}

}  // namespace

void expect_logits_loss_and_gradients(
    const std::string& folder, const ParityTolerance& tolerance) {
  Fixture f(folder);
  const Tensor a = f.of("input_ids_a").to(at::kLong);
  const Tensor b = f.of("input_ids_b").to(at::kLong);
  const auto pair = ops::SequenceContext::packed({a.numel(), b.numel()});
  const Tensor tokens = at::cat({a, b});
  const Tensor logits = f.model.logits(tokens, pair);
  const Tensor expected = at::cat({f.of("logits_a"), f.of("logits_b")});
  EXPECT_LE(largest_difference(logits, expected), tolerance.logits);

  const Tensor targets =
      at::cat({f.of("labels_a").to(at::kLong), f.of("labels_b").to(at::kLong)});
  const Tensor logprobs = f.model.target_logprobs(tokens, targets, pair);
  const auto num_targets = targets.ne(ops::kIgnoreIndex).sum().item<double>();
  const double loss = -logprobs.to(at::kDouble).sum().item<double>() / num_targets;
  const double expected_loss = f.of("loss").to(at::kDouble).item<double>();
  EXPECT_NEAR(loss, expected_loss, tolerance.loss * expected_loss);

  torch::autograd::backward({logprobs}, {at::full_like(logprobs, -1 / num_targets)});
  const auto names = family_of(f.model.config()).weight_names(f.model.config());
  double global = 0;
  for (const WeightName& name : names) {
    global = std::max(global, largest(f.of("grad." + name.hugging_face)));
  }
  for (const WeightName& name : names) {
    const Tensor wanted = f.of("grad." + name.hugging_face);
    const Tensor got = f.model.parameters().find(name.native)->gradient();
    const double scale = std::max(largest(wanted), global / 100);
    EXPECT_LE(largest_difference(got, wanted) / scale, tolerance.gradients)
        << name.hugging_face;
  }
}

void expect_packed_equals_alone(const std::string& folder) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    Fixture f(folder, dtype);
    const Tensor a = f.of("input_ids_a").to(at::kLong);
    const Tensor b = f.of("input_ids_b").to(at::kLong);
    const Tensor alone = at::cat(
        {f.model.logits(a, ops::SequenceContext::packed({a.numel()})),
         f.model.logits(b, ops::SequenceContext::packed({b.numel()}))});
    const Tensor packed = f.model.logits(
        at::cat({a, b}), ops::SequenceContext::packed({a.numel(), b.numel()}));
    EXPECT_TRUE(at::equal(alone, packed)) << at::toString(dtype);
  }
}

void expect_greedy_continuation(
    const std::string& folder, const ParityTolerance& tolerance) {
  Fixture f(folder);
  Tensor tokens = f.of("input_ids_a").to(at::kLong);
  const Tensor expected = f.of("greedy_a").to(at::kLong);
  const Tensor logprobs = f.of("greedy_logprobs_a");
  nn::KvCache cache = f.model.make_cache(tokens.numel() + expected.numel());
  int64_t position = 0;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const ops::SequenceContext sequence{{{0, tokens.numel(), position, 0}}};
    const Tensor logits = f.model.logits(tokens, sequence, &cache)[-1];
    position += tokens.numel();
    tokens = logits.argmax().view({1});
    EXPECT_EQ(tokens.item<int64_t>(), expected[i].item<int64_t>()) << "token " << i;
    EXPECT_NEAR(
        logits.log_softmax(0).max().item<double>(),
        logprobs[i].item<double>(),
        tolerance.logits)
        << "token " << i;
  }
}

void expect_release_config_agrees(const std::string& folder) {
  const auto read = [&](const std::string& name) {
    const config::AnyConfig any =
        config_from_hugging_face(read_json_file(folder + "/" + name), name);
    std::vector<config::Field> fields;
    any.append_fields(fields, "");
    return config::dump_fields(fields);
  };
  EXPECT_EQ(read("config.json"), read("config_release.json"));
}

void expect_lossless_round_trip(const std::string& folder) {
  Fixture f(folder);
  const fs::path out = fs::path(testing::TempDir()) / "titan_round_trip";
  fs::remove_all(out);
  checkpoint::save_hf_folder(
      out,
      {.config = export_config(f.model, f.opened.hugging_face, at::kFloat),
       .tensors = export_weights(f.model, at::kFloat)});
  const checkpoint::HfFolder before(folder);
  const checkpoint::HfFolder after(out);
  EXPECT_EQ(before.names(), after.names());
  for (const std::string& name : before.names()) {
    EXPECT_TRUE(at::equal(before.tensor(name), after.tensor(name))) << name;
  }
  for (const auto& [key, value] : before.config().items()) {
    if (key != "rope_theta" && key != "rope_scaling" && key != "torch_dtype") {
      // As plain JSON, where the order of members does not matter.
      EXPECT_EQ(nlohmann::json(after.config().at(key)), nlohmann::json(value)) << key;
    }
  }
}

}  // namespace titan::models
