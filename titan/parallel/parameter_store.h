#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "titan/parallel/parameter_bucket.h"

namespace titan::parallel {

// All parameters of a model on this rank, one bucket a block. Filled while the model is
// being assembled; holds no memory until materialize().
class ParameterStore final : public nn::ParameterSink {
 public:
  struct Parameter {
    std::string name;
    ParameterBucket* bucket;
    int index;
    bool trained = true;

    [[nodiscard]] const std::vector<int64_t>& shape() const {
      return bucket->spec(index).shape;
    }

    [[nodiscard]] int64_t numel() const;

    [[nodiscard]] Tensor master() const { return bucket->master(index); }

    [[nodiscard]] Tensor gradient() const { return bucket->gradient(index); }
  };

  explicit ParameterStore(at::ScalarType compute_dtype) : compute_dtype_(compute_dtype) {}

  ops::Weight declare(int block, const nn::ParameterSpec& spec) override;

  void materialize();
  // Sets every parameter from its Init, keyed by (seed, name): layout-independent.
  void initialize(uint64_t seed);

  // In the order of declaration.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

  // Null when there is none of that name.
  [[nodiscard]] const Parameter* find(const std::string& name) const;

  [[nodiscard]] const std::vector<std::unique_ptr<ParameterBucket>>& buckets() const {
    return buckets_;
  }

  [[nodiscard]] int64_t num_parameters() const;

  [[nodiscard]] at::ScalarType compute_dtype() const { return compute_dtype_; }

  void clear_gradients();
  void values_changed();

 private:
  at::ScalarType compute_dtype_;
  std::vector<std::unique_ptr<ParameterBucket>> buckets_;
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace titan::parallel
