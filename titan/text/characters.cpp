#include "titan/text/characters.h"

#include <unicode/uchar.h>

namespace titan::text {

bool is_numeric(char32_t point) {
  constexpr uint32_t kNumeric = U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(point)) & kNumeric) != 0;
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

}  // namespace titan::text
