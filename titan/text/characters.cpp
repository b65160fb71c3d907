#include "titan/text/characters.h"

#include <unicode/uchar.h>

#include "titan/text/utf8.h"

namespace titan::text {

bool is_numeric(char32_t point) {
  constexpr uint32_t kNumeric = U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(point)) & kNumeric) != 0;
}

bool is_punctuation(char32_t point) {
  const auto c = static_cast<UChar32>(point);
  const bool ascii_sign = point > ' ' && point < 0x7F && u_isalnum(c) == 0;
  return ascii_sign || (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0;
}

bool is_nonspacing_mark(char32_t point) {
  return (U_GET_GC_MASK(static_cast<UChar32>(point)) & U_GC_MN_MASK) != 0;
}

bool is_space(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_WHITE_SPACE) != 0;
}

bool is_word(char32_t point) {
  const auto c = static_cast<UChar32>(point);
  constexpr uint32_t kWord = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) != 0 ||
         (U_GET_GC_MASK(c) & kWord) != 0 ||
         u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) != 0;
}

size_t space_at_start(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = utf8_size(static_cast<unsigned char>(text[at]));
    if (!is_space(code_point(text.substr(at), size))) {
      break;
    }
    at += size;
  }
  return at;
}

size_t space_at_end(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t at = last_utf8(text.substr(0, end));
    if (!is_space(code_point(text.substr(at), end - at))) {
      break;
    }
    end = at;
  }
  return text.size() - end;
}

}  // namespace titan::text
