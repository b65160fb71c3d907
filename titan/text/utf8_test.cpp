#include "titan/text/utf8.h"

#include <gtest/gtest.h>

#include "titan/text/byte_alphabet.h"
#include "titan/text/characters.h"

namespace titan::text {
namespace {

std::string lossy(std::string_view bytes) {
  std::string text;
  append_utf8_lossy(text, bytes);
  return text;
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("h\xC3\xA9llo \xF0\x9F\x98\x80"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("ab\xC3(c"), 2);
  EXPECT_EQ(find_invalid_utf8("\x80"), 0);
  EXPECT_EQ(find_invalid_utf8("a\xC0\xAF"), 1);         // overlong
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0);      // surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0);  // above U+10FFFF
  EXPECT_EQ(find_invalid_utf8("abc\xE4\xB8"), 3);       // cut off
}

// The examples of the Unicode standard, tables 3-8 to 3-11, with \uFFFD written as '?'.
TEST(Utf8, ReplacesMaximalIllFormedRuns) {
  const auto marked = [](std::string text) {
    for (size_t at; (at = text.find(kReplacementCharacter)) != std::string::npos;) {
      text.replace(at, kReplacementCharacter.size(), "?");
    }
    return text;
  };
  EXPECT_EQ(marked(lossy("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41")), "????????A");
  EXPECT_EQ(marked(lossy("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41")), "????????A");
  EXPECT_EQ(marked(lossy("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42")), "?????A??B");
  EXPECT_EQ(marked(lossy("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41")), "????A");
}

TEST(Utf8, LeavesACutOffCharacter) {
  std::string text;
  EXPECT_EQ(append_utf8_lossy(text, "a\xF0\x9F\x98"), 1);
  EXPECT_EQ(text, "a");
}

TEST(ByteAlphabet, IsOneToOne) {
  std::string symbols;
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    symbols += byte_symbol(static_cast<uint8_t>(byte));
    bytes += static_cast<char>(byte);
  }
  EXPECT_EQ(bytes_of_symbols(symbols), bytes);
  EXPECT_EQ(byte_symbol(' '), "\u0120");
  EXPECT_EQ(byte_symbol('\n'), "\u010A");
  EXPECT_EQ(byte_symbol('a'), "a");
  EXPECT_EQ(byte_symbol(0xAD), "\u0143");
  EXPECT_EQ(bytes_of_symbols("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_symbols("\u4E2D"), std::nullopt);
}

TEST(Characters, Classes) {
  EXPECT_TRUE(is_numeric(U'7') && is_numeric(U'\u00BD') && is_numeric(U'\u2167'));
  EXPECT_FALSE(is_numeric(U'a') || is_numeric(U'\u4E2D'));
  EXPECT_TRUE(is_space(U' ') && is_space(U'\u00A0') && is_space(U'\u0085'));
  EXPECT_FALSE(is_space(U'\u180E') || is_space(U'\u200B'));
  EXPECT_TRUE(is_word(U'_') && is_word(U'\u00E9') && is_word(U'9') && is_word(U'\u0301'));
  EXPECT_FALSE(is_word(U'-') || is_word(U' '));
}

}  // namespace
}  // namespace titan::text
