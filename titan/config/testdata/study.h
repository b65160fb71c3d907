#pragma once
// A config with every kind of setting, for the tests of this module.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "titan/config/any_config.h"

namespace titan::config::study {

enum class Dtype { kFp32, kBf16 };

constexpr auto enum_names(Dtype) {
  using namespace std::string_view_literals;
  return std::array{std::pair{Dtype::kFp32, "fp32"sv}, std::pair{Dtype::kBf16, "bf16"sv}};
}

struct Optimizer {
  double lr = 8e-4;
  std::vector<double> betas = {0.9, 0.95};
  std::optional<double> min_lr;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lr", self.lr, "peak learning rate");
    visit("betas", self.betas, "decay of the moments");
    visit("min_lr", self.min_lr, "floor of the schedule");
  }
};

struct Train {
  int64_t steps = 10;
  int32_t context = 2048;
  uint64_t seed = 7;
  Dtype dtype = Dtype::kFp32;
  float max_norm = 1.0F;
  bool deterministic = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("steps", self.steps, "number of updates");
    visit("context", self.context, "longest document part in tokens");
    visit("seed", self.seed, "");
    visit("dtype", self.dtype, "type of the weights in compute");
    visit("max_norm", self.max_norm, "gradient clipping");
    visit("deterministic", self.deterministic, "");
  }

  // A template needs no include of check.h, as in a module that knows no config header.
  template <class P>
  static void check(const Train& self, P& problems) {
    problems.expect(self.steps > 0, "steps", "> 0", self.steps);
    problems.expect(self.context > 0, "context", "> 0", self.context);
  }
};

struct Source {
  std::string path;
  std::string field = "text";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "file");
    visit("field", self.field, "member that holds the text");
  }

  static void check(const Source& self, Problems& problems) {
    problems.expect(!self.path.empty(), "path", "a file name", self.path);
  }
};

struct Data {
  std::vector<Source> sources;
  bool shuffle = true;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("sources", self.sources, "where documents come from");
    visit("shuffle", self.shuffle, "");
  }
};

struct Llama {
  static constexpr std::string_view kType = "llama";
  int64_t dim = 256;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("dim", self.dim, "width");
  }

  static void check(const Llama& self, Problems& problems) {
    problems.expect(self.dim % 2 == 0, "dim", "an even number", self.dim);
  }
};

struct Qwen {
  static constexpr std::string_view kType = "qwen";
  int64_t heads = 4;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("heads", self.heads, "");
  }
};

struct Study {
  AnyConfig model = Llama{};
  Train train;
  Optimizer optimizer;
  Data data = {.sources = {{.path = "a.jsonl"}}};
  std::vector<std::string> overrides;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("model", self.model, "");
    visit("train", self.train, "");
    visit("optimizer", self.optimizer, "");
    visit("data", self.data, "");
    visit("overrides", self.overrides, "replaced implementations");
  }
};

}  // namespace titan::config::study
