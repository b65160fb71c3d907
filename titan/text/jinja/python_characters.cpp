#include "titan/text/jinja/python_characters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "titan/text/characters.h"
#include "titan/text/utf8.h"

namespace titan::text::jinja {
namespace {

bool is_cased(char32_t point) {
  return u_hasBinaryProperty(static_cast<UChar32>(point), UCHAR_CASED) != 0;
}

char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

bool is_ascii_letter(char c) {
  return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}

std::string change_ascii_case(std::string_view text, Case target) {
  std::string result(text);
  bool in_word = false;
  for (char& c : result) {
    const bool raise = target == Case::kUpper || (target == Case::kTitle && !in_word) ||
                       (target == Case::kCapitalize && &c == result.data());
    c = raise ? ascii_upper(c) : ascii_lower(c);
    in_word = is_ascii_letter(c);
  }
  return result;
}

// The whole-string mappings of Unicode, which may change the length.
std::string change_unicode_case(std::string_view text, Case target) {
  auto unicode = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  if (target == Case::kUpper) {
    unicode.toUpper(icu::Locale::getRoot());
  } else {
    unicode.toLower(icu::Locale::getRoot());
  }
  std::string result;
  return unicode.toUTF8String(result);
}

void append_title(std::string& result, char32_t point) {
  append_utf8(result, static_cast<char32_t>(u_totitle(static_cast<UChar32>(point))));
}

// Each run of cased characters: the first one in title case, the others in lower case.
std::string title_words(std::string_view text) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    const Character first = character_at(text, at);
    at += first.size;
    append_title(result, first.point);
    if (!is_cased(first.point)) {
      continue;
    }
    size_t end = at;
    while (end < text.size()) {
      const Character next = character_at(text, end);
      if (!is_cased(next.point)) {
        break;
      }
      end += next.size;
    }
    result += change_unicode_case(text.substr(at, end - at), Case::kLower);
    at = end;
  }
  return result;
}

bool contains_character(std::string_view set, std::string_view character) {
  for (size_t at = 0; at < set.size();) {
    const size_t size = character_at(set, at).size;
    if (set.substr(at, size) == character) {
      return true;
    }
    at += size;
  }
  return false;
}

bool belongs(std::string_view character, const std::string_view* set) {
  if (set == nullptr) {
    return is_python_space(character_at(character, 0).point);
  }
  return contains_character(*set, character);
}

bool is_digit(char32_t point) {
  const auto type = static_cast<UNumericType>(
      u_getIntPropertyValue(static_cast<UChar32>(point), UCHAR_NUMERIC_TYPE));
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_in(char32_t point, CharacterClass wanted) {
  const auto c = static_cast<UChar32>(point);
  const bool alpha = (U_GET_GC_MASK(c) & U_GC_L_MASK) != 0;
  switch (wanted) {
    case CharacterClass::kAlpha:
      return alpha;
    case CharacterClass::kDigit:
      return is_digit(point);
    case CharacterClass::kAlnum:
      return alpha || u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) != U_NT_NONE;
    case CharacterClass::kSpace:
      return is_python_space(point);
    case CharacterClass::kLower:
      return u_hasBinaryProperty(c, UCHAR_LOWERCASE) != 0;
    case CharacterClass::kUpper:
      return u_hasBinaryProperty(c, UCHAR_UPPERCASE) != 0;
  }
  return false;
}

}  // namespace

bool is_ascii(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  std::array<uint64_t, 4> words{};
  uint64_t any = 0;
  size_t at = 0;
  for (; at + sizeof(words) <= text.size(); at += sizeof(words)) {
    std::memcpy(words.data(), text.data() + at, sizeof(words));
    any |= words[0] | words[1] | words[2] | words[3];
  }
  for (; at < text.size(); ++at) {
    any |= static_cast<unsigned char>(text[at]);
  }
  return (any & kHighBits) == 0;
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

size_t character_offset(std::string_view text, size_t index) {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && index-- == 0) {
      return at;
    }
  }
  return text.size();
}

std::span<const Value> split_characters(const String& string, Arena& arena) {
  const std::span<Value> characters =
      arena.make_array<Value>(count_characters(string.text));
  size_t at = 0;
  for (Value& character : characters) {
    const size_t end = at + character_at(string.text, at).size;
    character = make_string(arena, string.part(at, end, arena));
    at = end;
  }
  return characters;
}

bool is_python_space(char32_t point) {
  if (point < 0x80) {
    return point == ' ' || (point >= '\t' && point <= '\r') ||
           (point >= 0x1C && point <= 0x1F);
  }
  return is_space(point);
}

bool is_printable(char32_t point) {
  constexpr uint32_t kHidden = U_GC_C_MASK | U_GC_Z_MASK;
  return point == ' ' || (U_GET_GC_MASK(static_cast<UChar32>(point)) & kHidden) == 0;
}

Character character_at(std::string_view text, size_t offset) {
  const auto first = static_cast<unsigned char>(text[offset]);
  if (first < 0x80) {
    return {first, 1};
  }
  const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return {code_point(text.substr(offset), size), size};
}

size_t prefix_of(std::string_view text, const std::string_view* set) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = character_at(text, at).size;
    if (!belongs(text.substr(at, size), set)) {
      break;
    }
    at += size;
  }
  return at;
}

size_t suffix_of(std::string_view text, const std::string_view* set) {
  size_t end = text.size();
  while (end > 0) {
    size_t at = end - 1;
    while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
      --at;
    }
    if (!belongs(text.substr(at, end - at), set)) {
      break;
    }
    end = at;
  }
  return text.size() - end;
}

std::string change_case(std::string_view text, Case target) {
  if (is_ascii(text)) {
    return change_ascii_case(text, target);
  }
  if (target == Case::kTitle) {
    return title_words(text);
  }
  if (target != Case::kCapitalize) {
    return change_unicode_case(text, target);
  }
  const Character first = character_at(text, 0);
  std::string result;
  append_title(result, first.point);
  return result + change_unicode_case(text.substr(first.size), Case::kLower);
}

bool is_class(std::string_view text, CharacterClass wanted) {
  const bool about_case =
      wanted == CharacterClass::kLower || wanted == CharacterClass::kUpper;
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    at += character.size;
    if (is_in(character.point, wanted)) {
      found = true;
    } else if (!about_case || is_cased(character.point)) {
      return false;
    }
  }
  return found;
}

void append_utf8(std::string& text, char32_t point) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
    return;
  }
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0 | point >> 12);
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
    }
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

}  // namespace titan::text::jinja
