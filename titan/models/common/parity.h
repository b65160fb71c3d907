#pragma once
// Test support: a model family against its fixture, made with the family's public
// reference implementation. A fixture folder holds config.json, model.safetensors (random
// weights under release names) and reference.safetensors: input_ids_{a,b}, logits_{a,b},
// labels_{a,b}, `loss` (the mean over all targets of both documents), grad.NAME of it,
// greedy_a and greedy_logprobs_a.

#include <string>

namespace titan::models {

// The tolerances for an fp32 implementation: absolute for logits and log-probabilities,
// relative for the loss; gradients by max|d| / max(max|g|, G / 100), G the largest
// gradient entry of all.
struct ParityTolerance {
  double logits = 5e-5;
  double gradients = 2e-5;
  double loss = 1e-5;
};

// Each reports its failures through GoogleTest.
void expect_logits_loss_and_gradients(
    const std::string& folder, const ParityTolerance& tolerance);
// The packed pair has the bits of each document alone.
void expect_packed_equals_alone(const std::string& folder);
void expect_greedy_continuation(
    const std::string& folder, const ParityTolerance& tolerance);
// config_release.json (the form of public repositories) means the same architecture.
void expect_release_config_agrees(const std::string& folder);
// Loading and exporting gives the stored tensors back, byte for byte.
void expect_lossless_round_trip(const std::string& folder);

}  // namespace titan::models
