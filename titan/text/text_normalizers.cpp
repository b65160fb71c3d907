// Normalizers by fixed texts and patterns.

#include <string_view>
#include <utility>

#include "titan/text/characters.h"
#include "titan/text/normalizer_kinds.h"
#include "titan/text/string_pattern.h"

namespace titan::text {
namespace {

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string normalize(std::string text) const override {
    return text.empty() ? text : prefix_ + text;
  }

 private:
  std::string prefix_;
};

class Replace : public Normalizer {
 public:
  Replace(StringPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  std::string normalize(std::string text) const override {
    return pattern_.replace_all(std::move(text), content_);
  }

 private:
  StringPattern pattern_;
  std::string content_;
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  std::string normalize(std::string text) const override {
    std::string_view rest = text;
    if (left_) {
      rest.remove_prefix(space_at_start(rest));
    }
    if (right_) {
      rest.remove_suffix(space_at_end(rest));
    }
    return std::string(rest);
  }

 private:
  bool left_;
  bool right_;
};

}  // namespace

std::unique_ptr<Normalizer> make_prepend(const Json& node, const std::string& where) {
  return std::make_unique<Prepend>(json_get<std::string>(node, "prepend", where));
}

std::unique_ptr<Normalizer> make_replace(const Json& node, const std::string& where) {
  return std::make_unique<Replace>(
      StringPattern(node, where), json_get<std::string>(node, "content", where));
}

std::unique_ptr<Normalizer> make_strip_normalizer(
    const Json& node, const std::string& where) {
  return std::make_unique<Strip>(
      json_get<bool>(node, "strip_left", where, true),
      json_get<bool>(node, "strip_right", where, true));
}

}  // namespace titan::text
