#include "titan/text/normalizer.h"

#include <utility>
#include <vector>

#include "titan/text/component.h"
#include "titan/text/normalizer_kinds.h"

namespace titan::text {
namespace {

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> parts)
      : parts_(std::move(parts)) {}

  std::string normalize(std::string text) const override {
    for (const auto& part : parts_) {
      text = part->normalize(std::move(text));
    }
    return text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

std::unique_ptr<Normalizer> make_normalizer_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<Normalizer>(node, "normalizers", where, make_normalizer));
}

constexpr Component<Normalizer> kNormalizers[] = {
    {"Lowercase", make_lowercase},
    {"NFC", make_nfc},
    {"NFD", make_nfd},
    {"NFKC", make_nfkc},
    {"NFKD", make_nfkd},
    {"Precompiled", make_precompiled},
    {"Prepend", make_prepend},
    {"Replace", make_replace},
    {"Sequence", make_normalizer_sequence},
    {"Strip", make_strip_normalizer},
    {"StripAccents", make_strip_accents}};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Json& node, const std::string& where) {
  return make_component<Normalizer>(node, where, kNormalizers);
}

}  // namespace titan::text
