// Normalizers by Unicode's tables.

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/characters.h"
#include "titan/text/normalizer_kinds.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// One of the four normalization forms (Unicode Standard Annex 15).
class NormalizationForm : public Normalizer {
 public:
  using GetForm = const icu::Normalizer2* (*)(UErrorCode&);

  NormalizationForm(std::string name, GetForm get_form) : name_(std::move(name)) {
    UErrorCode status = U_ZERO_ERROR;
    form_ = get_form(status);
    check(status);
  }

  std::string normalize(std::string text) const override {
    UErrorCode status = U_ZERO_ERROR;
    if (form_->isNormalizedUTF8(text, status) && U_SUCCESS(status)) {
      return text;
    }
    check(status);
    std::string result;
    icu::StringByteSink<std::string> sink(&result);
    form_->normalizeUTF8(0, text, sink, nullptr, status);
    check(status);
    return result;
  }

 private:
  void check(UErrorCode status) const {
    if (U_FAILURE(status)) {
      fail<EnvironmentError>(
          "ICU cannot normalize to {}: {}", name_, u_errorName(status));
    }
  }

  std::string name_;
  const icu::Normalizer2* form_;  // ICU's own, never freed
};

// Rewrites character by character: `append(character, point, out)`.
template <class Append>
std::string map_characters(const std::string& text, Append append) {
  std::string result;
  result.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const size_t size = utf8_size(static_cast<unsigned char>(rest[0]));
    append(rest.substr(0, size), code_point(rest, size), result);
    rest.remove_prefix(size);
  }
  return result;
}

// Each character by itself, so a final sigma is like any other.
class Lowercase : public Normalizer {
 public:
  std::string normalize(std::string text) const override {
    return map_characters(
        text, [](std::string_view character, char32_t point, std::string& out) {
          constexpr char32_t kDottedI = 0x130;  // the one with a lower case of two
          if (point == kDottedI) {
            out += "i\u0307";
            return;
          }
          const UChar32 lower = u_tolower(static_cast<UChar32>(point));
          if (lower == static_cast<UChar32>(point)) {
            out += character;
          } else {
            append_utf8(out, static_cast<char32_t>(lower));
          }
        });
  }
};

class StripAccents : public Normalizer {
 public:
  std::string normalize(std::string text) const override {
    return map_characters(
        text, [](std::string_view character, char32_t point, std::string& out) {
          if (!is_nonspacing_mark(point)) {
            out += character;
          }
        });
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_nfc_normalizer() {
  return std::make_unique<NormalizationForm>("NFC", icu::Normalizer2::getNFCInstance);
}

std::unique_ptr<Normalizer> make_nfc(const Json&, const std::string&) {
  return make_nfc_normalizer();
}

std::unique_ptr<Normalizer> make_nfd(const Json&, const std::string&) {
  return std::make_unique<NormalizationForm>("NFD", icu::Normalizer2::getNFDInstance);
}

std::unique_ptr<Normalizer> make_nfkc(const Json&, const std::string&) {
  return std::make_unique<NormalizationForm>("NFKC", icu::Normalizer2::getNFKCInstance);
}

std::unique_ptr<Normalizer> make_nfkd(const Json&, const std::string&) {
  return std::make_unique<NormalizationForm>("NFKD", icu::Normalizer2::getNFKDInstance);
}

std::unique_ptr<Normalizer> make_lowercase(const Json&, const std::string&) {
  return std::make_unique<Lowercase>();
}

std::unique_ptr<Normalizer> make_strip_accents(const Json&, const std::string&) {
  return std::make_unique<StripAccents>();
}

}  // namespace titan::text
