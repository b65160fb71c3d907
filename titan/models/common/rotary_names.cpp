#include "titan/models/common/dense.h"

namespace titan::models {
namespace {

nn::RotaryScaling scaling_of(const std::string& type, const std::string& what) {
  if (type == "default") {
    return nn::RotaryScaling::kNone;
  }
  if (type == "llama3") {
    return nn::RotaryScaling::kLlama3;
  }
  if (type == "yarn") {
    return nn::RotaryScaling::kYarn;
  }
  fail<FormatError>(
      "{}: rope_type: expected default, llama3 or yarn, got {}", what, type);
}

}  // namespace

nn::RotaryConfig rotary_from_hugging_face(const Json& hf, const std::string& what) {
  const bool new_form = hf.contains("rope_parameters");
  const char* key = new_form ? "rope_parameters" : "rope_scaling";
  const Json values =
      hf.contains(key) && !hf.at(key).is_null() ? hf.at(key) : Json::object();
  const std::string where = fmt::format("{}: {}", what, key);
  nn::RotaryConfig rotary;
  const double default_theta = json_get<double>(hf, "rope_theta", what, 10000.0);
  rotary.theta = json_get<double>(values, "rope_theta", where, default_theta);
  const auto old_type = json_get<std::string>(values, "type", where, "default");
  rotary.scaling =
      scaling_of(json_get<std::string>(values, "rope_type", where, old_type), where);
  if (rotary.scaling == nn::RotaryScaling::kNone) {
    return rotary;
  }
  rotary.factor = json_get<double>(values, "factor", where);
  rotary.original_context = json_get<int64_t>(
      values,
      "original_max_position_embeddings",
      where,
      json_get<int64_t>(hf, "max_position_embeddings", what, 0));
  if (rotary.scaling == nn::RotaryScaling::kLlama3) {
    rotary.low_frequency_factor = json_get<double>(values, "low_freq_factor", where);
    rotary.high_frequency_factor = json_get<double>(values, "high_freq_factor", where);
  } else {
    rotary.beta_fast = json_get<double>(values, "beta_fast", where, 32.0);
    rotary.beta_slow = json_get<double>(values, "beta_slow", where, 1.0);
    rotary.attention_factor = json_get<double>(values, "attention_factor", where, 0.0);
    rotary.truncate = json_get<bool>(values, "truncate", where, true);
    if (values.contains("mscale") || values.contains("mscale_all_dim")) {
      fail<FormatError>("{}: mscale: not supported by this architecture", where);
    }
  }
  return rotary;
}

Json rotary_to_hugging_face(const nn::RotaryConfig& rotary) {
  Json json = {{"rope_theta", rotary.theta}};
  switch (rotary.scaling) {
    case nn::RotaryScaling::kNone:
      json["rope_type"] = "default";
      return json;
    case nn::RotaryScaling::kLlama3:
      json["rope_type"] = "llama3";
      json["low_freq_factor"] = rotary.low_frequency_factor;
      json["high_freq_factor"] = rotary.high_frequency_factor;
      break;
    case nn::RotaryScaling::kYarn:
      json["rope_type"] = "yarn";
      json["beta_fast"] = rotary.beta_fast;
      json["beta_slow"] = rotary.beta_slow;
      json["truncate"] = rotary.truncate;
      if (rotary.attention_factor > 0) {
        json["attention_factor"] = rotary.attention_factor;
      }
      break;
  }
  json["factor"] = rotary.factor;
  json["original_max_position_embeddings"] = rotary.original_context;
  return json;
}

}  // namespace titan::models
