#include "titan/text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <utility>
#include <vector>

#include "titan/base/error.h"
#include "titan/text/component.h"

namespace titan::text {
namespace {

class Nfc : public Normalizer {
 public:
  std::string normalize(std::string text) const override {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* form = icu::Normalizer2::getNFCInstance(status);
    if (U_SUCCESS(status) && form->isNormalizedUTF8(text, status)) {
      return text;
    }
    std::string result;
    icu::StringByteSink<std::string> sink(&result);
    if (U_SUCCESS(status)) {
      form->normalizeUTF8(0, text, sink, nullptr, status);
    }
    if (U_FAILURE(status)) {
      fail<EnvironmentError>("ICU could not normalize to NFC: {}", u_errorName(status));
    }
    return result;
  }
};

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

std::unique_ptr<Normalizer> make_nfc(const Json&, const std::string&) {
  return std::make_unique<Nfc>();
}

std::unique_ptr<Normalizer> make_normalizer_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<Normalizer>(node, "normalizers", where, make_normalizer));
}

constexpr Component<Normalizer> kNormalizers[] = {
    {"NFC", make_nfc}, {"Sequence", make_normalizer_sequence}};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Json& node, const std::string& where) {
  return make_component<Normalizer>(node, where, kNormalizers);
}

}  // namespace titan::text
