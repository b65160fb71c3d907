// The normalizer Precompiled: a SentencePiece character map, applied as the reference
// implementation of tokenizer.json does: to whole user-perceived characters first, by
// their shortest entry.

#include <memory>
#include <unicode/brkiter.h>
#include <unicode/utext.h>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/base64.h"
#include "titan/text/character_map.h"
#include "titan/text/normalizer_kinds.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// Longer ones are looked up character by character only.
constexpr size_t kMaxCluster = 5;

void check(UErrorCode status) {
  if (U_FAILURE(status)) {
    fail<EnvironmentError>("ICU cannot find characters: {}", u_errorName(status));
  }
}

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(CharacterMap map) : map_(std::move(map)) {
    UErrorCode status = U_ZERO_ERROR;
    clusters_.reset(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
    check(status);
  }

  std::string normalize(std::string text) const override {
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<UText, decltype(&utext_close)> source(
        utext_openUTF8(nullptr, text.data(), std::ssize(text), &status), utext_close);
    const std::unique_ptr<icu::BreakIterator> clusters(clusters_->clone());
    check(status);
    clusters->setText(source.get(), status);
    check(status);
    std::string result;
    int32_t begin = clusters->first();
    for (int32_t end = clusters->next(); end != icu::BreakIterator::DONE;
         end = clusters->next()) {
      append(
          std::string_view(text).substr(
              static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
          result);
      begin = end;
    }
    return result;
  }

 private:
  void append(std::string_view cluster, std::string& out) const {
    if (cluster.size() <= kMaxCluster) {
      if (const auto match = map_.shortest(cluster)) {
        out += match->replacement;
        return;
      }
    }
    while (!cluster.empty()) {
      const std::string_view character =
          cluster.substr(0, utf8_size(static_cast<unsigned char>(cluster[0])));
      const auto match = map_.shortest(character);
      out += match ? match->replacement : character;
      cluster.remove_prefix(character.size());
    }
  }

  CharacterMap map_;
  std::unique_ptr<icu::BreakIterator> clusters_;
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(const Json& node, const std::string& where) {
  const std::string here = where + ".precompiled_charsmap";
  const std::optional<std::string> blob =
      decode_base64(json_get<std::string>(node, "precompiled_charsmap", where));
  if (!blob) {
    fail<FormatError>("{}: expected base64", here);
  }
  return std::make_unique<Precompiled>(CharacterMap(*blob, here));
}

}  // namespace titan::text
