#include "titan/models/common/family.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace titan::models {

Registry<Family>& families() {
  static Registry<Family> registry("model family");
  return registry;
}

const Family& family_of(const config::AnyConfig& config) {
  if (config.type().empty()) {
    throw ConfigError(
        "model.architecture: nothing chosen; set model.path to a model folder or use a "
        "recipe that names an architecture");
  }
  return families().at(std::string(config.type()));
}

const config::AnyConfig& size_of(const Family& family, const std::string& name) {
  std::vector<std::string> known;
  for (const Size& size : family.sizes) {
    if (size.name == name) {
      return size.config;
    }
    known.push_back(size.name);
  }
  fail<ConfigError>(
      "no size called \"{}\"; did you mean \"{}\"?", name, nearest_name(name, known));
}

config::AnyConfig config_from_hugging_face(const Json& hf, const std::string& what) {
  const auto listed = json_get<std::vector<std::string>>(hf, "architectures", what);
  std::vector<std::string> known;
  for (const std::string& name : families().names()) {
    const Family& family = families().at(name);
    for (const std::string& architecture : family.architectures) {
      if (std::find(listed.begin(), listed.end(), architecture) != listed.end()) {
        return family.from_hugging_face(hf, what);
      }
      known.push_back(architecture);
    }
  }
  fail<FormatError>(
      "{}: architectures: expected one of {}, got {}",
      what,
      fmt::join(known, ", "),
      fmt::join(listed, ", "));
}

}  // namespace titan::models
