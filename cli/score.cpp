#include <memory>
#include <numeric>

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>
#include <torch/csrc/autograd/autograd.h>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "titan/base/error.h"
#include "titan/checkpoint/safetensors_writer.h"
#include "titan/ops/head.h"

namespace titan::cli {
namespace {

using at::Tensor;

struct ScoreArguments {
  std::string model;
  std::string tokens;
  std::string out;
  std::string dtype = "fp32";
  bool gradients = false;
  bool packed = false;
};

// {"documents": [[ids], ...]}
std::vector<std::vector<int64_t>> read_documents(const std::string& path, int64_t vocab) {
  const Json json = read_json_file(path);
  if (!json.is_object() || !json.contains("documents") ||
      !json.at("documents").is_array()) {
    fail<FormatError>("{}: documents: expected a list of lists of token ids", path);
  }
  std::vector<std::vector<int64_t>> documents;
  for (size_t i = 0; i < json.at("documents").size(); ++i) {
    const Json wrapped = {{"ids", json.at("documents")[i]}};
    const std::string where = fmt::format("{}: documents.{}", path, i);
    documents.push_back(json_get<std::vector<int64_t>>(wrapped, "ids", where));
    if (documents.back().empty()) {
      fail<FormatError>("{}: expected at least one token id, got none", where);
    }
    for (const int64_t id : documents.back()) {
      if (id < 0 || id >= vocab) {
        fail<FormatError>(
            "{}: token id {} is not below the vocabulary's {}", where, id, vocab);
      }
    }
  }
  if (documents.empty()) {
    fail<FormatError>("{}: documents: expected at least one, got none", path);
  }
  return documents;
}

// One forward pass: some documents in a pack.
struct Pack {
  std::vector<int64_t> tokens;
  std::vector<int64_t> targets;
  std::vector<int64_t> lengths;

  void add(const std::vector<int64_t>& document) {
    tokens.insert(tokens.end(), document.begin(), document.end());
    targets.insert(targets.end(), document.begin() + 1, document.end());
    targets.push_back(ops::kIgnoreIndex);
    lengths.push_back(static_cast<int64_t>(document.size()));
  }
};

std::vector<Pack> make_packs(
    const std::vector<std::vector<int64_t>>& documents, bool together) {
  std::vector<Pack> packs;
  for (const auto& document : documents) {
    if (packs.empty() || !together) {
      packs.emplace_back();
    }
    packs.back().add(document);
  }
  return packs;
}

int64_t count_targets(const std::vector<std::vector<int64_t>>& documents) {
  int64_t count = 0;
  for (const auto& document : documents) {
    count += static_cast<int64_t>(document.size()) - 1;
  }
  return count;
}

// Adds logits.i and logprobs.i of the pack's documents; the sum of all log-probabilities.
// With a scale other than 0, the gradient of scale times that sum is added to the
// model's.
double score_pack(
    models::CausalLm& model,
    const Pack& pack,
    double gradient_scale,
    std::vector<checkpoint::NamedTensor>& results) {
  const Tensor tokens = at::tensor(at::IntArrayRef(pack.tokens), at::kLong);
  const Tensor targets = at::tensor(at::IntArrayRef(pack.targets), at::kLong);
  const auto sequence = ops::SequenceContext::packed(pack.lengths);
  const Tensor logits = model.logits(tokens, sequence);
  const at::AutoGradMode grad_mode(gradient_scale != 0);
  const Tensor logprobs = model.target_logprobs(tokens, targets, sequence);
  if (gradient_scale != 0) {
    torch::autograd::backward({logprobs}, {at::full_like(logprobs, gradient_scale)});
  }
  size_t document = 0;
  for (const auto& result : results) {
    document += result.name.starts_with("logits.") ? 1 : 0;
  }
  double sum = 0;
  for (const ops::SequenceSpan& span : sequence.spans) {
    const Tensor own =
        logprobs.detach().narrow(0, span.query_begin, span.query_length - 1);
    results.push_back(
        {fmt::format("logits.{}", document),
         logits.narrow(0, span.query_begin, span.query_length)});
    results.push_back({fmt::format("logprobs.{}", document), own});
    const auto* values = own.const_data_ptr<float>();
    sum = std::accumulate(values, values + own.numel(), sum);
    ++document;
  }
  return sum;
}

void run_score(const ScoreArguments& arguments) {
  const models::OpenedModel opened = models::open_model(
      arguments.model, {.compute_dtype = dtype_argument(arguments.dtype)});
  models::CausalLm& model = *opened.model;
  const auto documents = read_documents(arguments.tokens, model.facts().vocab);
  const int64_t num_targets = count_targets(documents);
  if (num_targets == 0) {
    fail<FormatError>(
        "{}: no document has two tokens, so there is no loss", arguments.tokens);
  }
  const double gradient_scale =
      arguments.gradients ? -1.0 / static_cast<double>(num_targets) : 0.0;
  std::vector<checkpoint::NamedTensor> results;
  double sum = 0;
  for (const Pack& pack : make_packs(documents, arguments.packed)) {
    sum += score_pack(model, pack, gradient_scale, results);
  }
  const double loss = -sum / static_cast<double>(num_targets);
  results.push_back({"loss", at::scalar_tensor(loss, at::kFloat)});
  if (arguments.gradients) {
    for (const auto& weight :
         models::family_of(model.config()).weight_names(model.config())) {
      results.push_back(
          {"grad." + weight.hugging_face,
           model.parameters().find(weight.native)->gradient()});
    }
  }
  checkpoint::write_safetensors(arguments.out, results);
  fmt::print(
      "loss {} over {} targets of {} documents\n",
      exact_number(loss),
      num_targets,
      documents.size());
}

}  // namespace

void add_score(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "score", "logits, log-probabilities, loss and gradients of documents");
  auto arguments = std::make_shared<ScoreArguments>();
  command
      ->add_option(
          "MODEL", arguments->model, "model folder, run, checkpoint or GGUF file")
      ->required();
  command
      ->add_option("--tokens", arguments->tokens, "JSON: {\"documents\": [[ids], ...]}")
      ->required();
  command->add_option("--out", arguments->out, "safetensors file for the results")
      ->required();
  command->add_option("--dtype", arguments->dtype, "fp32 (the default) or bf16");
  command->add_flag("--gradients", arguments->gradients, "also the loss's gradients");
  command->add_flag(
      "--packed", arguments->packed, "all documents in one pack: the same bits");
  command->callback([arguments] { run_score(*arguments); });
}

}  // namespace titan::cli
